/** Every object in which a site keeps state × deleted, an older copy, cut off, unreadable, while the rest stays. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  GRANTS,
  LEDGER,
  LOCAL_CA,
  NETWORK_DATA,
  NETWORK_STATUS,
  PENDING_KEYS,
  RENEWALS,
  ROUTER,
  ROUTER_DATA,
  SITE_CA,
  SITE_KEY,
} from '../../../src/api/skupper/cluster-names.ts';
import { skupperResources } from '../../../src/api/skupper/index.ts';
import { API_VERSION } from '../../../src/api/skupper/names.ts';
import { ownerOf } from '../../../src/site-controller/namespace-view.ts';
import { anchorIn } from '../../../src/site-controller/trust/router-anchor.ts';
import { SecretLedger } from '../../../src/site-controller/trust/secret-ledger.ts';
import { dataOf, SiteSecrets, textsOf } from '../../../src/site-controller/trust/site-secrets.ts';
import type { ConfigMap, KubeObject } from '../../../src/kube/objects.ts';
import { configMaps, secrets, services, type Resource } from '../../../src/kube/resource.ts';
import { formatGrant, parseGrant } from '../../../src/trust/disk/grant-file.ts';
import { PlayedController, SitesApi } from './support/played-sites.ts';
import { settings } from './support/view.ts';

const of = (kind: keyof typeof skupperResources): Resource<KubeObject> => skupperResources[kind] as Resource<never>;
const changed = { grants: { ...settings.grants, enabled: true, autoconfigure: false, tlsCredentials: 'none' } };
const EAST = '873f7632-3838-8275-8aad-abfcf2526e25';
const POD_KEYS = { [NETWORK_DATA.podKeys]: '["pods.pod-a"]' };

interface StatusObject extends KubeObject {
  readonly status?: { readonly status?: string; readonly message?: string; readonly redemptions?: number };
}

async function settle(api: SitesApi, act: (controller: PlayedController) => Promise<void> = async () => {}): Promise<void> {
  await using controller = await PlayedController.start(api, undefined, changed);
  await controller.lead();
  await controller.settle();
  await act(controller);
  await controller.settle();
}

function put(api: SitesApi, kind: keyof typeof skupperResources, name: string, spec: object): void {
  const before = api.read(of(kind), `west/${name}`);
  api.put(of(kind), {
    ...before,
    apiVersion: API_VERSION,
    kind,
    metadata: { ...before?.metadata, name, namespace: 'west' },
    spec,
  } as KubeObject);
}

async function revoke(api: SitesApi, { caches }: PlayedController): Promise<void> {
  const site = api.read(of('Site'), 'west/west');
  assert.ok(site !== undefined);
  const state = new SiteSecrets({ namespace: 'west', client: api, caches, site: ownerOf(site) });
  const anchor = () => anchorIn(caches.view(configMaps).get(`west/${ROUTER}`), site.metadata.uid);
  await new SecretLedger(state, { anchor }).revoke(EAST);
}

/** As if a token of it had been redeemed. */
function redeem(api: SitesApi): void {
  const secret = api.read(secrets, `west/${GRANTS}`);
  assert.ok(secret !== undefined);
  const counted = Object.entries(textsOf(secret)).map(([name, text]) => {
    const record = parseGrant(text, name);
    assert.ok(record !== undefined);
    const redeemedBy = [{ siteId: EAST, siteName: 'east', at: 0 }];
    return [name, formatGrant({ ...record, redemptions: 1, redeemedBy, keyHashes: ['hash'] })];
  });
  api.put(secrets, { ...secret, data: dataOf(Object.fromEntries(counted) as Record<string, string>) });
}

/** A site before east was revoked and the only redemption of its grant was used up, and after that. */
async function world(): Promise<{ readonly before: SitesApi; readonly after: SitesApi }> {
  const before = new SitesApi();
  put(before, 'Site', 'west', { linkAccess: 'default' });
  put(before, 'Listener', 'db', { host: 'data', port: 5432, routingKey: 'db' });
  put(before, 'Listener', 'pods', { host: 'pods', port: 80, routingKey: 'pods', exposePodsByName: true });
  put(before, 'Certificate', 'link-west', { ca: SITE_CA, client: true, subject: 'x' });
  put(before, 'AccessGrant', 'grant', { code: 'my-own' });
  await settle(before);
  const network = before.read(configMaps, `west/${NETWORK_STATUS}`);
  before.put(configMaps, { ...network, data: POD_KEYS } as ConfigMap);
  await settle(before);
  const after = new SitesApi();
  after.startFrom(before);
  await settle(after, (controller) => revoke(after, controller));
  redeem(after);
  // After the copy of the record was taken.
  put(after, 'Certificate', 'later', { ca: SITE_CA, server: true, subject: 'later', hosts: ['later'] });
  await settle(after);
  return { before, after };
}

const damages = ['deleted', 'older', 'cut off', 'unreadable'] as const;
type Told = { readonly [D in (typeof damages)[number]]?: RegExp };

const states: readonly (readonly [of: Resource, name: string, told: Told])[] = [
  [
    secrets,
    LEDGER,
    {
      deleted: /skupper-site-ledger was deleted/,
      older: /skupper-site-ledger was deleted/,
      'cut off': /skupper-site-ledger/,
      unreadable: /skupper-site-ledger/,
    },
  ],
  [secrets, GRANTS, {}],
  [secrets, SITE_KEY, { deleted: /skupper-site-key is missing/, 'cut off': /site's key is not/, unreadable: /site's key is not/ }],
  [secrets, SITE_CA, { deleted: /skupper-site-ca is missing/, 'cut off': /skupper-site-ca/, unreadable: /skupper-site-ca is damaged/ }],
  [secrets, LOCAL_CA, {}],
  [secrets, PENDING_KEYS, {}],
  [secrets, 'link-west', {}],
  [configMaps, ROUTER, {}],
  [configMaps, NETWORK_STATUS, {}],
  [configMaps, RENEWALS, {}],
];

const isText = (kind: Resource): boolean => kind.plural === 'configmaps';

function damage(api: SitesApi, before: SitesApi, kind: Resource, name: string, how: (typeof damages)[number]): void {
  const key = `west/${name}`;
  // Both kinds keep texts by key in `data`.
  const object = api.read(kind, key) as ConfigMap | undefined;
  if (object === undefined) return;
  const changedBy = (change: (text: string) => string): void => {
    const texts = isText(kind) ? (object.data ?? {}) : textsOf(object);
    const next = Object.fromEntries(Object.entries(texts).map(([entry, text]) => [entry, change(text)]));
    const damaged: ConfigMap = { ...object, data: isText(kind) ? next : dataOf(next) };
    api.put(kind, damaged);
  };
  if (how === 'deleted') api.remove(kind, key);
  else if (how === 'older') {
    const copy = before.read(kind, key);
    if (copy === undefined) api.remove(kind, key);
    else api.put(kind, copy);
  } else changedBy((text) => (how === 'cut off' ? text.slice(0, text.length / 2) : '\u0000 nonsense'));
}

function revokedIn(api: SitesApi): string {
  return api.read(configMaps, `west/${ROUTER}`)?.data?.[ROUTER_DATA.revoked] ?? '';
}

const statusOf = (api: SitesApi, kind: 'Site' | 'AccessGrant', name: string): NonNullable<StatusObject['status']> =>
  (api.read(of(kind), `west/${name}`) as StatusObject | undefined)?.status ?? {};

describe('State that is lost', () => {
  for (const [kind, name, told] of states) {
    for (const how of damages) {
      it(`is not taken for empty: ${name} ${how}`, async () => {
        const { before, after: api } = await world();
        assert.equal(statusOf(api, 'AccessGrant', 'grant').redemptions, 1);
        const revoked = revokedIn(api);
        assert.match(revoked, new RegExp(EAST));
        const leaves = ['link-west', 'later', 'skupper-site-server'].map((each) => api.read(secrets, `west/${each}`)?.data?.['tls.crt']);
        const ofServices = ['data', 'pods', 'pod-a'].map((each) => api.read(services, `west/${each}`)?.metadata.uid);
        assert.ok(!ofServices.includes(undefined));
        const key = api.read(secrets, `west/${SITE_KEY}`)?.data;
        damage(api, before, kind, name, how);
        const calls = api.calls.length;
        // No reconcile admits a revoked site, not even for a moment.
        api.meets = ({ plural, object }) => {
          const list = plural === 'configmaps' ? (object as ConfigMap).data?.[ROUTER_DATA.revoked] : undefined;
          if (list !== undefined) assert.match(list, new RegExp(EAST));
        };
        await settle(api).catch((error: unknown) => assert.match(String(error), /come to rest/));
        assert.deepEqual(JSON.parse(revokedIn(api)), JSON.parse(revoked), 'the same are revoked');
        assert.deepEqual(
          api.calls.slice(calls).filter((call) => call.startsWith('delete ')),
          [],
          'nothing is deleted',
        );
        const { redemptions, message: grant = '' } = statusOf(api, 'AccessGrant', 'grant');
        assert.ok(redemptions === 1, `${redemptions}: ${grant}`);
        if (name !== SITE_KEY) assert.deepEqual(api.read(secrets, `west/${SITE_KEY}`)?.data, key);
        else if (how === 'deleted') assert.equal(api.read(secrets, `west/${SITE_KEY}`), undefined, 'no other key is made');
        const now = ['link-west', 'later', 'skupper-site-server'].map((each) => api.read(secrets, `west/${each}`)?.data?.['tls.crt']);
        assert.deepEqual(name === 'link-west' ? now.slice(1) : now, name === 'link-west' ? leaves.slice(1) : leaves);
        assert.deepEqual(
          ['data', 'pods', 'pod-a'].map((each) => api.read(services, `west/${each}`)?.metadata.uid),
          ofServices,
        );
        const { status, message = '' } = statusOf(api, 'Site', 'west');
        const expected = told[how];
        if (expected !== undefined) assert.match(`${status} ${message}`, new RegExp(`^Error .*${expected.source}`));
      });
    }
  }

  it('of a Site that is created again does not make a used-up grant good again', async () => {
    const { after: api } = await world();
    api.remove(of('Site'), 'west/west');
    api.collect();
    await settle(api);
    assert.equal(statusOf(api, 'AccessGrant', 'grant').redemptions, 1);
    put(api, 'Site', 'west', { linkAccess: 'default' });
    await settle(api);
    assert.equal(statusOf(api, 'AccessGrant', 'grant').redemptions, 1);
    const record = Object.values(textsOf(api.read(secrets, `west/${GRANTS}`) ?? { metadata: {} }))[0] ?? '';
    assert.match(record, /"redemptions": 1/);
  });
});
