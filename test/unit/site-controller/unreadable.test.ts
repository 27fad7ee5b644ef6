/** A resource that turns unreadable is still stored: nothing that was made for it is deleted, revoked or moved. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { GRANTS, LEDGER, ROUTER } from '../../../src/api/skupper/cluster-names.ts';
import { skupperResources } from '../../../src/api/skupper/index.ts';
import { API_VERSION } from '../../../src/api/skupper/names.ts';
import type { KubeObject, Pod, Secret } from '../../../src/kube/objects.ts';
import { pods, roles, secrets, type Resource } from '../../../src/kube/resource.ts';
import type { Kind } from '../../../src/site/resources.ts';
import { handedOut, PlayedController, SitesApi } from './support/played-sites.ts';
import { settings } from './support/view.ts';

interface Stored {
  readonly kind: Kind;
  readonly namespace: string;
  readonly name: string;
  readonly spec: object;
}

const stored = (kind: Kind, name: string, spec: object, namespace = 'west'): Stored => ({ kind, namespace, name, spec });

/** One namespace with something of every kind, and what it shares with another. */
const world: readonly Stored[] = [
  stored('Site', 'west', { linkAccess: 'default', ha: true }),
  stored('Listener', 'db', { host: 'data', port: 5432, routingKey: 'db' }),
  stored('Listener', 'api', { host: 'data', port: 8080, routingKey: 'api', tlsCredentials: 'shown' }),
  stored('Listener', 'alone', { host: 'alone', port: 80, routingKey: 'alone' }),
  stored('MultiKeyListener', 'both', { host: 'both', port: 80, strategy: { priority: { routingKeys: ['a', 'b'] } } }),
  stored('Connector', 'back', { selector: 'app=back', port: 8080, routingKey: 'back', tlsCredentials: 'trusted' }),
  stored('Link', 'east', { endpoints: [{ name: 'inter-router', host: 'east', port: '55671' }], tlsCredentials: 'east' }),
  stored('RouterAccess', 'more', {
    accessType: 'local',
    roles: [{ name: 'inter-router', port: 7000 }],
    generateTlsCredentials: true,
    tlsCredentials: 'more',
  }),
  stored('RouterAccess', 'shows', { accessType: 'local', roles: [{ name: 'edge', port: 7001 }], tlsCredentials: 'of-access' }),
  stored('SecuredAccess', 'own', {
    accessType: 'local',
    issuer: 'skupper-site-ca',
    selector: { app: 'own' },
    ports: [{ name: 'a', port: 1 }],
  }),
  stored('Certificate', 'link-west', { ca: 'skupper-site-ca', client: true, subject: 'x' }),
  stored('Certificate', 'app', { ca: 'skupper-site-ca', server: true, subject: 'app', hosts: ['app'] }),
  stored('Certificate', 'of-access', { ca: 'skupper-site-ca', server: true, subject: 'app', hosts: ['app'] }),
  stored('Certificate', 'authority', { ca: '', signing: true, subject: 'authority' }),
  stored('Certificate', 'below', { ca: 'authority', client: true, subject: 'below' }),
  stored('AccessGrant', 'grant', { code: 'one-of-my-own' }),
  stored('AccessToken', 'token', { url: 'https://127.0.0.1:1/v1/redeem/x', code: 'code', ca: 'ca' }),
  stored('AttachedConnectorBinding', 'attached', { connectorNamespace: 'other', routingKey: 'attached' }),
  stored('AttachedConnector', 'attached', { siteNamespace: 'west', selector: 'app=a', port: 80, tlsCredentials: 'a' }, 'other'),
];

const of = (kind: Kind): Resource<KubeObject> => skupperResources[kind] as Resource<never>;
const changed = { grants: { ...settings.grants, enabled: true, autoconfigure: false, tlsCredentials: 'none' } };

async function settle(api: SitesApi): Promise<void> {
  await using controller = await PlayedController.start(api, undefined, changed);
  await controller.lead();
  await controller.settle();
  assert.deepEqual(controller.failures, []);
}

/** All of it, as a controller has brought it to rest. */
async function settled(): Promise<SitesApi> {
  const api = new SitesApi();
  const pod: Pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'a', namespace: 'other', labels: { app: 'a' } },
    status: { phase: 'Running', podIP: '10.0.0.1', conditions: [{ type: 'Ready', status: 'True' }] },
  };
  api.put(pods, pod);
  for (const name of ['shown', 'trusted', 'east', 'a']) {
    api.put(secrets, { apiVersion: 'v1', kind: 'Secret', type: 'kubernetes.io/tls', metadata: { name, namespace: 'west' }, data: {} });
  }
  for (const { kind, name, namespace, spec } of world) {
    api.put(of(kind), { apiVersion: API_VERSION, kind, metadata: { name, namespace }, spec } as KubeObject);
  }
  await settle(api);
  return api;
}

/** By the kinds that the controller makes for a site, too. */
function allStored(api: SitesApi): readonly Stored[] {
  const created = [...api.objects].flatMap(([id, object]): readonly Stored[] => {
    const kind = (Object.keys(skupperResources) as readonly Kind[]).find((each) => id.startsWith(`${of(each).plural} `));
    const { name = '', namespace = '' } = object.metadata;
    return kind === undefined ? [] : [{ kind, name, namespace, spec: {} }];
  });
  return created;
}

const shapes: readonly unknown[] = [
  'spec',
  {
    hosts: 7,
    host: [7],
    roles: 7,
    selector: 7,
    url: 7,
    endpoints: 7,
    connectorNamespace: 7,
    linkAccess: 7,
    siteNamespace: [],
    code: 7,
    routingKey: 7,
  },
];

function makeUnreadable(api: SitesApi, { kind, namespace, name }: Stored, spec: unknown): void {
  const before = api.read(of(kind), `${namespace}/${name}`);
  assert.ok(before !== undefined, name);
  api.put(of(kind), { ...before, metadata: { ...before.metadata, generation: 2 }, spec } as KubeObject);
}

function secretNamesIn(api: SitesApi): ReadonlySet<string> {
  const rules = api.read(roles, `west/${ROUTER}`)?.rules ?? [];
  return new Set(rules.filter((rule) => rule.resources.includes('secrets')).flatMap(({ resourceNames = [] }) => resourceNames));
}

function snapshot(api: SitesApi): Readonly<Record<string, unknown>> {
  const texts = (name: string): Secret['data'] => api.read(secrets, `west/${name}`)?.data;
  const slices = [...api.objects]
    .filter(([id]) => id.startsWith('endpointslices '))
    .map(([id, object]) => [id, { ...object, metadata: {} }]);
  return { revoked: texts(LEDGER)?.['revoked.yaml'], grants: texts(GRANTS), slices };
}

/** A spec that is repaired, since the controller itself wrote it, is readable again. */
async function assertNothingTakenAway(api: SitesApi, act: () => Promise<void>): Promise<void> {
  const before = { out: handedOut(api), names: secretNamesIn(api), state: snapshot(api) };
  const calls = api.calls.length;
  await act();
  assert.deepEqual(
    api.calls.slice(calls).filter((call) => call.startsWith('delete ')),
    [],
  );
  const after = handedOut(api);
  for (const [key, value] of before.out) assert.deepEqual([key, after.get(key)], [key, value]);
  assert.deepEqual(
    [...before.names].filter((name) => !secretNamesIn(api).has(name)),
    [],
  );
  assert.deepEqual(snapshot(api), before.state);
}

describe('A resource that turns unreadable', () => {
  it('is known of every kind in this world, those that the controller makes included', async () => {
    const kinds = new Set(allStored(await settled()).map(({ kind }) => kind));
    assert.deepEqual([...kinds].sort(), Object.keys(skupperResources).sort());
  });

  it('loses nothing, each of them by itself', async () => {
    const whole = await settled();
    for (const one of allStored(whole)) {
      for (const shape of shapes) {
        const api = new SitesApi();
        api.startFrom(whole);
        makeUnreadable(api, one, shape);
        await assertNothingTakenAway(api, () => settle(api)).catch((error: unknown) => {
          throw new Error(`${one.kind}/${one.name} as ${JSON.stringify(shape).slice(0, 20)}: ${String(error)}`, { cause: error });
        });
      }
    }
  });

  it('loses nothing, whatever set of them it is', async () => {
    const whole = await settled();
    const all = allStored(whole);
    await fc.assert(
      fc.asyncProperty(fc.subarray([...all], { minLength: 2 }), fc.constantFrom(...shapes), async (some, shape) => {
        const api = new SitesApi();
        api.startFrom(whole);
        for (const one of some) makeUnreadable(api, one, shape);
        await assertNothingTakenAway(api, () => settle(api));
      }),
      { numRuns: 60 },
    );
  });
});
