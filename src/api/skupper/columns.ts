/** What `kubectl get` and the command line's tables show of each kind. Without the schemas, so that a table costs little. */
import type { PrinterColumn } from '../crd.ts';
import type { SkupperKind } from './index.ts';

const status: PrinterColumn = { name: 'Status', type: 'string', jsonPath: '.status.status', description: 'Ready, Pending or Error.' };
const message: PrinterColumn = { name: 'Message', type: 'string', jsonPath: '.status.message', description: 'What is the case.' };
const routingKey: PrinterColumn = {
  name: 'Routing Key',
  type: 'string',
  jsonPath: '.spec.routingKey',
  description: 'The key by which listeners and connectors find each other.',
};
const port: PrinterColumn = { name: 'Port', type: 'integer', jsonPath: '.spec.port', description: 'The port to connect to.' };
const host: PrinterColumn = { name: 'Host', type: 'string', jsonPath: '.spec.host', description: 'The host to connect to.' };
const selector: PrinterColumn = { name: 'Selector', type: 'string', jsonPath: '.spec.selector', description: 'The pods to connect to.' };
const hasMatchingListener: PrinterColumn = {
  name: 'Has Matching Listener',
  type: 'boolean',
  jsonPath: '.status.hasMatchingListener',
  description: 'Whether a listener of the key is reachable.',
};

export const printerColumns: Readonly<Record<SkupperKind, readonly PrinterColumn[]>> = {
  Site: [
    status,
    { name: 'Sites In Network', type: 'integer', jsonPath: '.status.sitesInNetwork', description: 'How many sites are reachable.' },
    message,
  ],
  Listener: [
    routingKey,
    port,
    host,
    status,
    {
      name: 'Has Matching Connector',
      type: 'boolean',
      jsonPath: '.status.hasMatchingConnector',
      description: 'Whether a connector of the key is reachable.',
    },
    message,
  ],
  MultiKeyListener: [
    port,
    host,
    status,
    { name: 'HasDestination', type: 'boolean', jsonPath: '.status.hasDestination', description: 'Whether any of its keys can be reached.' },
    message,
  ],
  Connector: [routingKey, port, host, selector, status, hasMatchingListener, message],
  Link: [
    status,
    { name: 'Remote Site', type: 'string', jsonPath: '.status.remoteSiteName', description: 'The site at the other end.' },
    message,
  ],
  AccessGrant: [
    { name: 'Redemptions Allowed', type: 'integer', jsonPath: '.spec.redemptionsAllowed', description: 'How often it can be redeemed.' },
    { name: 'Redemptions Made', type: 'integer', jsonPath: '.status.redemptions', description: 'How often it has been redeemed.' },
    { name: 'Expiration', type: 'string', jsonPath: '.status.expirationTime', description: 'Until when it can be redeemed.' },
    status,
    message,
  ],
  AccessToken: [
    { name: 'URL', type: 'string', jsonPath: '.spec.url', description: 'Where it is redeemed.' },
    { name: 'Redeemed', type: 'boolean', jsonPath: '.status.redeemed', description: 'Whether it has become a Link.' },
    status,
    message,
  ],
  RouterAccess: [status, message],
  SecuredAccess: [status, message],
  Certificate: [
    { name: 'CA', type: 'string', jsonPath: '.spec.ca', description: 'Who signs.' },
    { name: 'Server', type: 'boolean', jsonPath: '.spec.server', description: 'Whether servers can show it.' },
    { name: 'Client', type: 'boolean', jsonPath: '.spec.client', description: 'Whether clients can show it.' },
    { name: 'Signing', type: 'boolean', jsonPath: '.spec.signing', description: 'Whether it is a certificate authority.' },
    status,
    { name: 'Expiration', type: 'string', jsonPath: '.status.expiration', description: 'Until when it is valid.' },
    message,
  ],
  AttachedConnector: [
    port,
    selector,
    { name: 'Site Namespace', type: 'string', jsonPath: '.spec.siteNamespace', description: 'The namespace of the site.' },
    status,
    message,
  ],
  AttachedConnectorBinding: [
    routingKey,
    {
      name: 'Connector Namespace',
      type: 'string',
      jsonPath: '.spec.connectorNamespace',
      description: 'The namespace of the AttachedConnector.',
    },
    status,
    hasMatchingListener,
    message,
  ],
};
