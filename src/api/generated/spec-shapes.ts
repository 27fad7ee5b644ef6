/** Written by `npm run generate` from the schemas beside it: what `validateResource` checks by. */
import type { Structural } from '../crd.ts';
import type { SkupperKind } from '../skupper/index.ts';

export const specShapes: Readonly<Record<SkupperKind, Structural>> = {
  "Site": {
    "type": "object",
    "properties": {
      "linkAccess": {
        "type": "string"
      },
      "ha": {
        "type": "boolean",
        "default": false
      },
      "edge": {
        "type": "boolean",
        "default": false
      },
      "defaultIssuer": {
        "type": "string"
      },
      "serviceAccount": {
        "type": "string"
      },
      "settings": {
        "type": "object",
        "additionalProperties": {
          "type": "string"
        }
      }
    }
  },
  "Listener": {
    "type": "object",
    "required": [
      "routingKey",
      "host",
      "port"
    ],
    "properties": {
      "routingKey": {
        "type": "string",
        "minLength": 1,
        "maxLength": 253,
        "pattern": "^[!-~]+$"
      },
      "host": {
        "type": "string",
        "minLength": 1,
        "maxLength": 253,
        "pattern": "^[!-~]+$"
      },
      "port": {
        "type": "integer",
        "format": "int32",
        "minimum": 1,
        "maximum": 65535
      },
      "tlsCredentials": {
        "type": "string"
      },
      "type": {
        "type": "string",
        "default": "tcp"
      },
      "observer": {
        "type": "string",
        "enum": [
          "auto",
          "none",
          "http1",
          "http2"
        ]
      },
      "exposePodsByName": {
        "type": "boolean",
        "default": false
      },
      "settings": {
        "type": "object",
        "additionalProperties": {
          "type": "string"
        }
      }
    }
  },
  "MultiKeyListener": {
    "type": "object",
    "required": [
      "host",
      "port",
      "strategy"
    ],
    "properties": {
      "host": {
        "type": "string",
        "minLength": 1,
        "maxLength": 253,
        "pattern": "^[!-~]+$"
      },
      "port": {
        "type": "integer",
        "format": "int32",
        "minimum": 1,
        "maximum": 65535
      },
      "strategy": {
        "type": "object",
        "properties": {
          "priority": {
            "type": "object",
            "required": [
              "routingKeys"
            ],
            "properties": {
              "routingKeys": {
                "type": "array",
                "items": {
                  "type": "string",
                  "minLength": 1,
                  "maxLength": 253,
                  "pattern": "^[!-~]+$"
                },
                "minItems": 1,
                "maxItems": 256,
                "x-kubernetes-list-type": "set"
              }
            }
          },
          "weighted": {
            "type": "object",
            "required": [
              "routingKeys"
            ],
            "properties": {
              "routingKeys": {
                "type": "object",
                "additionalProperties": {
                  "type": "integer",
                  "format": "int32",
                  "minimum": 0,
                  "maximum": 1000000
                },
                "minProperties": 1,
                "maxProperties": 256
              }
            }
          }
        },
        "x-kubernetes-validations": [
          {
            "rule": "has(self.priority) != has(self.weighted)",
            "message": "give exactly one of `priority` and `weighted`"
          },
          {
            "rule": "has(self.priority) == has(oldSelf.priority)",
            "message": "the kind of strategy cannot change: delete this object and create it anew"
          }
        ]
      },
      "tlsCredentials": {
        "type": "string"
      },
      "requireClientCert": {
        "type": "boolean",
        "default": false
      },
      "observer": {
        "type": "string",
        "enum": [
          "auto",
          "none",
          "http1",
          "http2"
        ]
      },
      "settings": {
        "type": "object",
        "additionalProperties": {
          "type": "string"
        }
      }
    }
  },
  "Connector": {
    "type": "object",
    "required": [
      "routingKey",
      "port"
    ],
    "properties": {
      "routingKey": {
        "type": "string",
        "minLength": 1,
        "maxLength": 253,
        "pattern": "^[!-~]+$"
      },
      "port": {
        "type": "integer",
        "format": "int32",
        "minimum": 1,
        "maximum": 65535
      },
      "host": {
        "type": "string",
        "minLength": 1,
        "maxLength": 253,
        "pattern": "^[!-~]+$"
      },
      "selector": {
        "type": "string"
      },
      "tlsCredentials": {
        "type": "string"
      },
      "useClientCert": {
        "type": "boolean",
        "default": false
      },
      "verifyHostname": {
        "type": "boolean",
        "default": true
      },
      "includeNotReadyPods": {
        "type": "boolean",
        "default": false
      },
      "exposePodsByName": {
        "type": "boolean",
        "default": false
      },
      "type": {
        "type": "string",
        "default": "tcp"
      },
      "settings": {
        "type": "object",
        "additionalProperties": {
          "type": "string"
        }
      }
    },
    "x-kubernetes-validations": [
      {
        "rule": "has(self.host) != has(self.selector)",
        "message": "give exactly one of `host` and `selector`"
      }
    ]
  },
  "Link": {
    "type": "object",
    "required": [
      "endpoints"
    ],
    "properties": {
      "endpoints": {
        "type": "array",
        "items": {
          "type": "object",
          "properties": {
            "name": {
              "type": "string"
            },
            "host": {
              "type": "string",
              "maxLength": 253
            },
            "port": {
              "type": "string",
              "maxLength": 5
            },
            "group": {
              "type": "string"
            }
          }
        },
        "maxItems": 64
      },
      "tlsCredentials": {
        "type": "string"
      },
      "cost": {
        "type": "integer",
        "format": "int32",
        "minimum": 1,
        "maximum": 65535,
        "default": 1
      },
      "settings": {
        "type": "object",
        "additionalProperties": {
          "type": "string"
        }
      }
    }
  },
  "AccessGrant": {
    "type": "object",
    "properties": {
      "redemptionsAllowed": {
        "type": "integer",
        "format": "int32",
        "minimum": 1,
        "default": 1
      },
      "expirationWindow": {
        "type": "string",
        "format": "duration",
        "default": "15m"
      },
      "code": {
        "type": "string",
        "format": "password"
      },
      "issuer": {
        "type": "string"
      },
      "settings": {
        "type": "object",
        "additionalProperties": {
          "type": "string"
        }
      }
    }
  },
  "AccessToken": {
    "type": "object",
    "required": [
      "url",
      "code",
      "ca"
    ],
    "properties": {
      "url": {
        "type": "string",
        "minLength": 1,
        "maxLength": 2048
      },
      "code": {
        "type": "string",
        "minLength": 1,
        "maxLength": 1024,
        "format": "password"
      },
      "ca": {
        "type": "string",
        "minLength": 1,
        "maxLength": 65536
      },
      "linkCost": {
        "type": "integer",
        "format": "int32",
        "minimum": 1,
        "maximum": 65535,
        "default": 1
      },
      "settings": {
        "type": "object",
        "additionalProperties": {
          "type": "string"
        }
      }
    }
  },
  "RouterAccess": {
    "type": "object",
    "required": [
      "roles",
      "tlsCredentials"
    ],
    "properties": {
      "roles": {
        "type": "array",
        "items": {
          "type": "object",
          "required": [
            "name"
          ],
          "properties": {
            "name": {
              "type": "string",
              "minLength": 1
            },
            "port": {
              "type": "integer",
              "format": "int32",
              "minimum": 0,
              "maximum": 65535
            }
          }
        },
        "maxItems": 16
      },
      "tlsCredentials": {
        "type": "string"
      },
      "generateTlsCredentials": {
        "type": "boolean",
        "default": false
      },
      "issuer": {
        "type": "string"
      },
      "accessType": {
        "type": "string"
      },
      "bindHost": {
        "type": "string",
        "maxLength": 253
      },
      "subjectAlternativeNames": {
        "type": "array",
        "items": {
          "type": "string",
          "minLength": 1,
          "maxLength": 253
        },
        "maxItems": 256
      },
      "settings": {
        "type": "object",
        "additionalProperties": {
          "type": "string"
        }
      }
    }
  },
  "SecuredAccess": {
    "type": "object",
    "required": [
      "ports",
      "selector"
    ],
    "properties": {
      "ports": {
        "type": "array",
        "items": {
          "type": "object",
          "required": [
            "name",
            "port"
          ],
          "properties": {
            "name": {
              "type": "string",
              "minLength": 1
            },
            "port": {
              "type": "integer",
              "format": "int32",
              "minimum": 1,
              "maximum": 65535
            },
            "targetPort": {
              "type": "integer",
              "format": "int32",
              "minimum": 1,
              "maximum": 65535
            },
            "protocol": {
              "type": "string"
            }
          }
        },
        "maxItems": 64
      },
      "selector": {
        "type": "object",
        "additionalProperties": {
          "type": "string"
        }
      },
      "issuer": {
        "type": "string"
      },
      "certificate": {
        "type": "string"
      },
      "accessType": {
        "type": "string"
      },
      "settings": {
        "type": "object",
        "additionalProperties": {
          "type": "string"
        }
      }
    }
  },
  "Certificate": {
    "type": "object",
    "required": [
      "ca",
      "subject"
    ],
    "properties": {
      "ca": {
        "type": "string"
      },
      "subject": {
        "type": "string",
        "minLength": 1,
        "maxLength": 253
      },
      "hosts": {
        "type": "array",
        "items": {
          "type": "string",
          "minLength": 1,
          "maxLength": 253
        },
        "maxItems": 256
      },
      "client": {
        "type": "boolean",
        "default": false
      },
      "server": {
        "type": "boolean",
        "default": false
      },
      "signing": {
        "type": "boolean",
        "default": false
      },
      "settings": {
        "type": "object",
        "additionalProperties": {
          "type": "string"
        }
      }
    }
  },
  "AttachedConnector": {
    "type": "object",
    "required": [
      "siteNamespace",
      "port",
      "selector"
    ],
    "properties": {
      "siteNamespace": {
        "type": "string",
        "minLength": 1,
        "maxLength": 63
      },
      "port": {
        "type": "integer",
        "format": "int32",
        "minimum": 1,
        "maximum": 65535
      },
      "selector": {
        "type": "string",
        "minLength": 1
      },
      "tlsCredentials": {
        "type": "string"
      },
      "useClientCert": {
        "type": "boolean",
        "default": false
      },
      "includeNotReadyPods": {
        "type": "boolean",
        "default": false
      },
      "type": {
        "type": "string",
        "default": "tcp"
      },
      "settings": {
        "type": "object",
        "additionalProperties": {
          "type": "string"
        }
      }
    }
  },
  "AttachedConnectorBinding": {
    "type": "object",
    "required": [
      "connectorNamespace",
      "routingKey"
    ],
    "properties": {
      "connectorNamespace": {
        "type": "string",
        "minLength": 1,
        "maxLength": 63
      },
      "routingKey": {
        "type": "string",
        "minLength": 1,
        "maxLength": 253,
        "pattern": "^[!-~]+$"
      },
      "exposePodsByName": {
        "type": "boolean",
        "default": false
      },
      "settings": {
        "type": "object",
        "additionalProperties": {
          "type": "string"
        }
      }
    }
  }
};
