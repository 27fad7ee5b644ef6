/** What the reference of skupper.io says beside the fields. Every example here is sent to a real API server by the tests. */
import { API_VERSION } from '../src/api/skupper/names.ts';

export const beforeKinds = `
<!-- Written by \`npm run generate\` from src/api/skupper and scripts/reference-skupper.ts: change it there. -->

# The resources of ${API_VERSION}

A [Site](#site) takes part in a network of sites. [Listeners](#listener) are what clients at a site connect to,
[Connectors](#connector) lead to servers, and both find each other by their routing key. [Links](#link) join two sites;
[AccessGrants](#accessgrant) and [AccessTokens](#accesstoken) create them.

In the tables \`*\` marks a field that must be given, \`[]\` an entry of a list, and \`.*\` a value of a map. Every object has a
\`status\` with \`status\`, \`message\` and conditions. Without a cluster each object is a document in a YAML file below
\`input/resources/\` of its namespace, and its status is below \`runtime/resources/\`. See [the command line](cli.md).
`;

const metadata = (name: string) => `metadata:\n  name: ${name}\n`;

function manifest(kind: string, name: string, spec: string): string {
  return `apiVersion: ${API_VERSION}\nkind: ${kind}\n${metadata(name)}spec:\n${spec.replace(/^\n/, '')}`;
}

const examples: Readonly<Record<string, string>> = {
  Site: manifest(
    'Site',
    'west',
    `
  linkAccess: default
`,
  ),
  Listener: manifest(
    'Listener',
    'backend',
    `
  routingKey: backend
  host: backend
  port: 8080
`,
  ),
  MultiKeyListener: manifest(
    'MultiKeyListener',
    'backend-anywhere',
    `
  host: backend-anywhere
  port: 8080
  strategy:
    priority:
      routingKeys: [backend-near, backend-far]
`,
  ),
  Connector: manifest(
    'Connector',
    'backend',
    `
  routingKey: backend
  host: backend.internal.example.com
  port: 8080
`,
  ),
  Link: manifest(
    'Link',
    'to-west',
    `
  tlsCredentials: to-west
  cost: 2
  endpoints:
    - name: inter-router
      host: west.example.com
      port: "55671"
    - name: edge
      host: west.example.com
      port: "45671"
`,
  ),
  AccessGrant: manifest(
    'AccessGrant',
    'for-east',
    `
  redemptionsAllowed: 1
  expirationWindow: 1h
`,
  ),
  AccessToken: manifest(
    'AccessToken',
    'to-west',
    `
  url: https://west.example.com:9090/v1/redeem/for-east
  code: what-the-status-of-the-grant-says
  ca: |
    -----BEGIN CERTIFICATE-----
    what the status of the grant says
    -----END CERTIFICATE-----
`,
  ),
  RouterAccess: manifest(
    'RouterAccess',
    'links',
    `
  roles:
    - name: inter-router
      port: 55671
    - name: edge
  tlsCredentials: links
  generateTlsCredentials: true
  subjectAlternativeNames: [west.example.com]
`,
  ),
  SecuredAccess: manifest(
    'SecuredAccess',
    'links',
    `
  ports:
    - name: inter-router
      port: 55671
  selector:
    app: router
`,
  ),
  Certificate: manifest(
    'Certificate',
    'backend',
    `
  ca: site-ca
  subject: backend
  hosts: [backend, backend.example.com]
  server: true
`,
  ),
  AttachedConnector: manifest(
    'AttachedConnector',
    'backend',
    `
  siteNamespace: west
  selector: app=backend
  port: 8080
`,
  ),
  AttachedConnectorBinding: manifest(
    'AttachedConnectorBinding',
    'backend',
    `
  connectorNamespace: backend-team
  routingKey: backend
`,
  ),
};

const remarks: Readonly<Record<string, string>> = {
  Listener: `
While no connector of its key can be reached, the port refuses connections, so that clients fail at once. It closes a second after
the last connector was lost; until then, new connections wait for another. Without a cluster the host must be a name or an address of
the machine; \`0.0.0.0\` and \`::\` are all of them.
`,
  MultiKeyListener: `
For shares instead of an order give \`strategy: {weighted: {routingKeys: {backend-old: 90, backend-new: 10}}}\`. A strategy cannot
become one of the other kind.
`,
  AccessGrant: `
The count and the end are kept exactly, also over a restart. The code is a secret: its holder can link to the site.
`,
};

export function exampleOf(kind: string): string {
  const example = examples[kind];
  if (example === undefined) throw new Error(`scripts/reference-skupper.ts has no example of ${kind}: add one.`);
  return example;
}

export function remarksOn(kind: string): string {
  return (remarks[kind] ?? '').trim();
}

export const afterKinds = `
## What an earlier system left behind

The names, fields and types are those of Skupper's version 2, so that its manifests are valid here. The API server additionally
refuses ports that are none, routing keys with spaces, and costs below 1.
`;
