/** A namespace as full as its editor can make it: one generator for every kind, so that no rule is forgotten. */
import { LEDGER, NETWORK_DATA, NETWORK_STATUS, RENEWALS, ROUTER } from '../../../../src/api/skupper/cluster-names.ts';
import { skupperResources } from '../../../../src/api/skupper/index.ts';
import { API_VERSION } from '../../../../src/api/skupper/names.ts';
import type { KubeObject } from '../../../../src/kube/objects.ts';
import { configMaps, endpointSlices, pods, secrets, services, type Resource } from '../../../../src/kube/resource.ts';
import type { PlayedApi } from '../../exposure/support/played-api.ts';

export type Crowd = (api: PlayedApi, count: number, namespace: string) => void;

function resource(kind: keyof typeof skupperResources, namespace: string, name: string, spec: object, more: object = {}): KubeObject {
  return {
    apiVersion: API_VERSION,
    kind,
    metadata: { namespace, name, uid: `uid-${namespace}-${kind}-${name}`, ...more },
    spec,
  } as KubeObject;
}

function each(kind: keyof typeof skupperResources, specOf: (index: number) => object): Crowd {
  return (api, count, namespace) => {
    for (let index = 0; index < count; index += 1) {
      api.put(skupperResources[kind] as Resource, resource(kind, namespace, `${kind.toLowerCase()}-${index}`, specOf(index)));
    }
  };
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');

function plain(of: Resource, objectOf: (index: number) => object, prefix = ''): Crowd {
  return (api, count, namespace) => {
    for (let index = 0; index < count; index += 1) {
      const { metadata, ...rest } = objectOf(index) as KubeObject;
      api.put(of, {
        apiVersion: of.group === '' ? of.version : `${of.group}/${of.version}`,
        kind: of.kind,
        ...rest,
        metadata: { name: `${prefix}${of.plural}-${index}`, ...metadata, namespace },
      });
    }
  };
}

/** Shared by all objects of a test, so that thousands of them fit into memory. */
const HUGE = 'x, '.repeat(60_000);
const LABELLED = 200;
const MANY_LABELS: Readonly<Record<string, string>> = Object.fromEntries(
  Array.from({ length: 2_000 }, (_, index) => [`example.com/label-${index}`, 'x'.repeat(63)]),
);

/** Few of them are enough, each as large as the API server takes. */
function few(crowd: Crowd, most: number): Crowd {
  return (api, count, namespace) => crowd(api, Math.min(count, most), namespace);
}

/** Stored under other definitions, or with a schema that was removed. */
function invalid(spec: unknown): Crowd {
  return (api, count, namespace) => {
    const kinds = Object.keys(skupperResources).filter((kind) => kind !== 'Site') as readonly (keyof typeof skupperResources)[];
    for (let index = 0; index < count; index += 1) {
      const kind = kinds[index % kinds.length] ?? 'Listener';
      api.put(skupperResources[kind] as Resource, resource(kind, namespace, `${kind.toLowerCase()}-${index}`, spec as object));
    }
  };
}

/** Each is as much work as a hundred others, so a few hundred hold the event loop up as well. */
function labelled(kind: keyof typeof skupperResources, spec: object): Crowd {
  return (api, count, namespace) => {
    for (let index = 0; index < Math.min(count, LABELLED); index += 1) {
      const more = { labels: MANY_LABELS, annotations: MANY_LABELS };
      api.put(skupperResources[kind] as Resource, resource(kind, namespace, `${kind.toLowerCase()}-${index}`, spec, more));
    }
  };
}

/** Objects that an editor of a namespace can create by thousands, by name. */
export const crowds: Readonly<Record<string, Crowd>> = {
  Listener: each('Listener', (index) => ({
    routingKey: `key-${index % 100}`,
    host: `host-${index}`,
    port: 1024 + (index % 100),
    exposePodsByName: true,
  })),
  'Listener of one host': each('Listener', (index) => ({ routingKey: 'key', host: 'one', port: 1 + index })),
  MultiKeyListener: each('MultiKeyListener', (index) => ({
    host: `multi-${index}`,
    port: 80,
    strategy: { priority: { routingKeys: Array.from({ length: 64 }, (_, key) => `key-${key}`) } },
  })),
  Connector: each('Connector', (index) => ({ routingKey: `key-${index}`, selector: 'app in (a, b, c), !d', port: 80 })),
  Link: each('Link', (index) => ({
    tlsCredentials: `link-${index}`,
    endpoints: Array.from({ length: 16 }, (_, at) => ({ name: 'inter-router', host: `h-${at}`, port: '1', group: `g-${at}` })),
  })),
  RouterAccess: each('RouterAccess', (index) => ({
    accessType: 'local',
    generateTlsCredentials: true,
    tlsCredentials: `tls-${index}`,
    issuer: `ca-${index}`,
    roles: [{ name: 'inter-router', port: 10_000 + index }],
  })),
  SecuredAccess: each('SecuredAccess', (index) => ({
    accessType: 'local',
    issuer: 'skupper-site-ca',
    selector: { app: `a-${index}` },
    ports: [{ name: 'x', port: 1, targetPort: 1, protocol: 'TCP' }],
  })),
  'SecuredAccess of one certificate': each('SecuredAccess', () => ({
    accessType: 'local',
    issuer: 'skupper-site-ca',
    certificate: 'shared',
    selector: { app: 'a' },
    ports: [{ name: 'x', port: 1, targetPort: 1, protocol: 'TCP' }],
  })),
  AccessGrant: each('AccessGrant', (index) => ({ redemptionsAllowed: 1, issuer: `ca-${index}` })),
  AccessToken: each('AccessToken', (index) => ({ url: `https://127.0.0.1:1/${index}`, code: 'x'.repeat(24), ca: 'x' })),
  Certificate: each('Certificate', (index) => ({ ca: 'skupper-site-ca', subject: `c-${index}`, hosts: [`h-${index}`], server: true })),
  'Certificate without authority': each('Certificate', (index) => ({ ca: `ca-${index}`, subject: `c-${index}`, client: true })),
  AttachedConnector: each('AttachedConnector', (index) => ({ siteNamespace: 'west', selector: `app=a-${index}`, port: 80 })),
  AttachedConnectorBinding: each('AttachedConnectorBinding', (index) => ({ connectorNamespace: 'west', routingKey: `key-${index}` })),
  'AttachedConnectorBinding of many namespaces': each('AttachedConnectorBinding', (index) => ({
    connectorNamespace: `ns-${index}`,
    routingKey: `key-${index}`,
  })),
  Site: each('Site', () => ({})),
  Secret: plain(
    secrets,
    (index) => ({
      metadata: { labels: { app: `a-${index}` }, annotations: { 'internal.skupper.io/controlled': 'true' } },
      type: 'kubernetes.io/tls',
      data: { 'tls.crt': base64('x'.repeat(4_000)), 'tls.key': base64('x'.repeat(2_000)), 'ca.crt': base64('x'.repeat(4_000)) },
    }),
    'crowd-',
  ),
  'label template': plain(configMaps, (index) => ({
    metadata: { labels: { 'skupper.io/label-template': '', [`example.com/l-${index}`]: 'x' } },
    data: { labelSelector: `a=1,!b,c in (d, e, f-${index})` },
  })),
  ConfigMap: plain(configMaps, () => ({ metadata: { labels: { 'example.skupper.io/x': '' } }, data: { x: 'x'.repeat(1_000) } })),
  Service: plain(services, (index) => ({
    metadata: {
      labels: { 'internal.skupper.io/listener': `l-${index}`, 'internal.skupper.io/secured-access': '' },
      annotations: { 'internal.skupper.io/controlled': 'true' },
    },
    spec: {
      ports: Array.from({ length: 50 }, (_, port) => ({ name: `p-${port}`, port: 1 + port, protocol: 'TCP', targetPort: 1_024 + port })),
    },
  })),
  EndpointSlice: plain(endpointSlices, () => ({
    metadata: { labels: { 'internal.skupper.io/attached': 'true' }, annotations: { 'internal.skupper.io/controlled': 'true' } },
    addressType: 'IPv4',
    endpoints: Array.from({ length: 100 }, () => ({ addresses: ['10.0.0.1'] })),
  })),
  Pod: plain(pods, () => ({
    metadata: { labels: { 'skupper.io/component': 'router', 'skupper.io/type': 'site' } },
    spec: { containers: [{ name: 'router', env: Array.from({ length: 50 }, (_, index) => ({ name: `e-${index}`, value: 'x' })) }] },
    status: { phase: 'Pending' },
  })),
  'network status': (api, count, namespace) => {
    const sites = Array.from({ length: count }, (_, index) => ({
      id: `s-${index}`,
      name: 'x',
      links: [{ name: 'l' }],
      services: [{ routingKey: 'k', connectors: ['a', 'b'], listeners: ['a'] }],
    }));
    const podKeys = Array.from({ length: count }, (_, index) => `key-${index % 100}.pod-${index}`);
    const data = { [NETWORK_DATA.sites]: JSON.stringify(sites).slice(0, 600_000), [NETWORK_DATA.podKeys]: JSON.stringify(podKeys) };
    api.put(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace, name: NETWORK_STATUS }, data } as KubeObject);
  },
  'network status of many sites': (api, _count, namespace) => {
    const data = { [NETWORK_DATA.sites]: `[${'{},'.repeat(250_000)}{}]` };
    api.put(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace, name: NETWORK_STATUS }, data } as KubeObject);
  },
  'revocations of the router': (api, _count, namespace) => {
    const data = { 'revoked.json': '['.repeat(900_000) };
    api.put(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace, name: ROUTER }, data } as KubeObject);
  },
  'damaged revocations': record({ 'revoked.yaml': `- {name: x, siteIds: [${'"aaaa", '.repeat(60_000)}` }),
  'Listener with many labels': labelled('Listener', { routingKey: 'key', host: 'host', port: 80 }),
  'Certificate with many labels': labelled('Certificate', { ca: 'skupper-site-ca', subject: 'c', hosts: ['h'], server: true }),
  'Listener with huge texts': each('Listener', () => ({
    routingKey: HUGE,
    host: HUGE,
    port: 80,
    tlsCredentials: HUGE,
    settings: { a: HUGE },
  })),
  'Connector with a huge selector': few(
    each('Connector', (index) => ({ routingKey: `key-${index}`, selector: `app in (${HUGE}${index})`, port: 80 })),
    100,
  ),
  'AttachedConnector with a huge selector': few(
    each('AttachedConnector', (index) => ({ siteNamespace: 'west', selector: `app in (${HUGE}${index})`, port: 80 })),
    100,
  ),
  'label template with a huge selector': few(
    plain(configMaps, (index) => ({
      metadata: { labels: { 'skupper.io/label-template': '', ...MANY_LABELS } },
      data: { labelSelector: `a in (${HUGE}${index})`, exclude: HUGE },
    })),
    64,
  ),
  'Secret with many labels': plain(secrets, () => ({
    metadata: { labels: MANY_LABELS, annotations: { 'internal.skupper.io/controlled': 'true', ...MANY_LABELS } },
    type: 'kubernetes.io/tls',
  })),
  'invalid resource': invalid('spec'),
  'resource with invalid fields': invalid({ hosts: 7, host: [7], roles: 7, selector: {}, url: 7, endpoints: 7, [HUGE]: HUGE }),
  'long record': record({
    'issued.jsonl': Array.from({ length: 7_000 }, (_, index) =>
      JSON.stringify({
        siteName: `s${index}`,
        serial: index.toString(16).toUpperCase().padStart(16, '0'),
        notAfter: '2099-01-01T00:00:00Z',
      }),
    ).join('\n'),
  }),
  'record of short lines': record({ 'issued.jsonl': '1\n'.repeat(350_000) }),
  renewals: (api, _count, namespace) => {
    const data = Object.fromEntries(
      Array.from({ length: 2_000 }, (_, index) => [
        index.toString(16).padStart(32, '0'),
        JSON.stringify({ certificate: base64('x'.repeat(100)), siteId: '11111111-1111-4111-8111-111111111111', request: 'x' }),
      ]),
    );
    api.put(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace, name: RENEWALS }, data } as KubeObject);
  },
};

function record(data: Readonly<Record<string, string>>): Crowd {
  return (api, _count, namespace) => {
    const encoded = Object.fromEntries(Object.entries(data).map(([key, text]) => [key, base64(text)]));
    api.put(secrets, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace, name: LEDGER, annotations: { 'internal.skupper.io/controlled': 'true' } },
      type: 'Opaque',
      data: encoded,
    } as KubeObject);
  };
}
