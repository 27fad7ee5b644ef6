/** Columns of `kubectl get` and of the command line's tables for each kind. Does not import the schemas, so tables load fast. */
import { column, type PrinterColumn } from '../crd.ts';
import type { SkupperKind } from './index.ts';

const status = column('Status', '.status.status', 'Ready, Pending or Error.');
const message = column('Message', '.status.message', 'Description of the status.');
const routingKey = column('Routing Key', '.spec.routingKey', 'The key by which listeners and connectors find each other.');
const port = column('Port', '.spec.port', 'The port to connect to.', 'integer');
const host = column('Host', '.spec.host', 'The host to connect to.');
const selector = column('Selector', '.spec.selector', 'The pods to connect to.');
const hasMatchingListener = column(
  'Has Matching Listener',
  '.status.hasMatchingListener',
  'Whether a listener of the key is reachable.',
  'boolean',
);

export const printerColumns: Readonly<Record<SkupperKind, readonly PrinterColumn[]>> = {
  Site: [status, column('Sites In Network', '.status.sitesInNetwork', 'Number of reachable sites.', 'integer'), message],
  Listener: [
    routingKey,
    port,
    host,
    status,
    column('Has Matching Connector', '.status.hasMatchingConnector', 'Whether a connector of the key is reachable.', 'boolean'),
    message,
  ],
  MultiKeyListener: [
    port,
    host,
    status,
    column('HasDestination', '.status.hasDestination', 'Whether any of its keys is reachable.', 'boolean'),
    message,
  ],
  Connector: [routingKey, port, host, selector, status, hasMatchingListener, message],
  Link: [
    status,
    column('Cost', '.spec.cost', 'Cost of the path over it.', 'integer'),
    column('Remote Site', '.status.remoteSiteName', 'The site at the other end.'),
    message,
  ],
  AccessGrant: [
    column('Redemptions Allowed', '.spec.redemptionsAllowed', 'Number of times that it can be redeemed.', 'integer'),
    column('Redemptions Made', '.status.redemptions', 'Number of redemptions so far.', 'integer'),
    column('Expiration', '.status.expirationTime', 'End of its validity.'),
    status,
    message,
  ],
  AccessToken: [
    column('URL', '.spec.url', 'URL of the redemption.'),
    column('Redeemed', '.status.redeemed', 'Whether it has become a Link.', 'boolean'),
    status,
    message,
  ],
  RouterAccess: [status, message],
  SecuredAccess: [status, message],
  Certificate: [
    column('CA', '.spec.ca', 'Name of the certificate authority.'),
    column('Server', '.spec.server', 'Whether servers can present it.', 'boolean'),
    column('Client', '.spec.client', 'Whether clients can present it.', 'boolean'),
    column('Signing', '.spec.signing', 'Whether it is a certificate authority.', 'boolean'),
    status,
    column('Expiration', '.status.expiration', 'End of its validity.'),
    message,
  ],
  AttachedConnector: [port, selector, column('Site Namespace', '.spec.siteNamespace', 'The namespace of the site.'), status, message],
  AttachedConnectorBinding: [
    routingKey,
    column('Connector Namespace', '.spec.connectorNamespace', 'The namespace of the AttachedConnector.'),
    status,
    hasMatchingListener,
    message,
  ],
};
