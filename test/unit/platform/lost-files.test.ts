/** Every file in which a site on a machine keeps state × deleted, an older copy, cut off, unreadable, while the rest stays. */
import assert from 'node:assert/strict';
import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { parse } from 'yaml';
import { layoutOf, type NamespaceLayout } from '../../../src/platform/linux/layout.ts';
import { startSite } from '../../../src/platform/linux/site.ts';
import { createLogger } from '../../../src/telemetry/log.ts';
import { openLedger } from '../../../src/trust/disk/ledger.ts';
import { formatGrant, parseGrant } from '../../../src/trust/disk/grant-file.ts';
import { startGranting, type GrantingSite } from '../trust/support/grant-server.ts';
import { FakeRouter } from '../agent/support/fake-router.ts';
import { freePort } from '../support/free-port.ts';
import { aDirectory, aNamespace, until } from './support.ts';

const log = createLogger({ level: 'silent', component: 'test' });
const EAST = '873f7632-3838-8275-8aad-abfcf2526e25';

const textOf = (path: string): Promise<string | undefined> => readFile(path, 'utf8').catch(() => undefined);

interface Status {
  readonly status?: string;
  readonly message?: string;
  readonly redemptions?: number;
}

async function statusOf({ runtime }: NamespaceLayout, file: string): Promise<Status> {
  const text = await textOf(join(runtime.resources, file));
  return text === undefined ? {} : ((parse(text) as { status?: Status }).status ?? {});
}

/** Runs the site until the condition holds. @returns what its router refuses then */
async function run(layout: NamespaceLayout, condition: (router: FakeRouter) => boolean | Promise<boolean>): Promise<FakeRouter> {
  const router = new FakeRouter();
  await using site = await startSite({ layout, router: 'router', version: '1', log, start: router.start });
  await until(async () => {
    site.reload();
    return condition(router);
  }, 'the site is as it is to be');
  return router;
}

const hasStatus =
  (layout: NamespaceLayout, matches: (status: Status) => boolean) =>
  async (name: string): Promise<boolean> =>
    matches(await statusOf(layout, `${name}.yaml`));

interface World {
  readonly before: NamespaceLayout;
  readonly after: NamespaceLayout;
}

/** A namespace before east was revoked, a grant was used up and a second token of `peer` was redeemed, and after that. */
async function createWorld(t: TestContext, peer: GrantingSite): Promise<World> {
  const layout = await aNamespace(t);
  const put = (kind: string, name: string, spec: object): Promise<void> => {
    const text = JSON.stringify({ apiVersion: 'skupper.io/v2alpha1', kind, metadata: { name }, spec });
    return writeFile(join(layout.input.resources, `${kind}-${name}.yaml`), text);
  };
  const putToken = async (name: string): Promise<void> => {
    const { url, code, ca } = await peer.issue({ redemptionsAllowed: 10 });
    return put('AccessToken', name, { url, code, ca });
  };
  const isReady = hasStatus(layout, ({ status }) => status === 'Ready');
  await put('Site', 'west', { settings: { 'grant-port': `${await freePort()}` } });
  await put('AccessGrant', 'grant', { code: 'my-own' });
  await putToken('one');
  await put('Certificate', 'app', { ca: 'earshot-site-ca', server: true, subject: 'app', hosts: ['app'] });
  await run(layout, async () => (await isReady('Certificate-app')) && isReady('AccessToken-one'));
  const before = await copyOf(layout, t);
  await (await openLedger(layout.internal.root)).revoke(EAST);
  const path = join(layout.internal.grants, 'grant.json');
  const record = parseGrant((await textOf(path)) ?? '', 'grant');
  assert.ok(record !== undefined);
  const redeemedBy = [{ siteId: EAST, siteName: 'east', at: 0 }];
  await writeFile(path, formatGrant({ ...record, redemptions: 1, redeemedBy, keyHashes: ['hash'] }));
  await put('Certificate', 'later', { ca: 'earshot-site-ca', server: true, subject: 'later', hosts: ['later'] });
  await putToken('two');
  await run(layout, async () => (await isReady('Certificate-later')) && isReady('AccessToken-two'));
  return { before, after: layout };
}

async function copyOf(layout: NamespaceLayout, t: TestContext): Promise<NamespaceLayout> {
  const copy = layoutOf('west', await aDirectory(t));
  await cp(layout.root, copy.root, { recursive: true, verbatimSymlinks: true });
  return copy;
}

const damages = ['deleted', 'older', 'cut off', 'unreadable'] as const;
type Damage = (typeof damages)[number];

async function damage(before: string, path: string, how: Damage): Promise<void> {
  if (how === 'deleted') return rm(path, { recursive: true, force: true });
  if (how === 'older') {
    await rm(path, { recursive: true, force: true });
    return cp(before, path, { recursive: true, verbatimSymlinks: true }).catch(() => {});
  }
  const text = (await textOf(path)) ?? '';
  return writeFile(path, how === 'cut off' ? text.slice(0, text.length / 2) : '\u0000 nonsense');
}

/** Message of the Site or of the resource. */
const states: readonly (readonly [path: string, told: { readonly [D in Damage]?: RegExp }])[] = [
  ['issued.jsonl', { deleted: /was deleted/, older: /was deleted/, 'cut off': /was deleted/, unreadable: /was deleted/ }],
  ['revoked.yaml', { deleted: /was restored/, older: /was restored/, unreadable: /revoked.yaml is damaged/ }],
  [
    'site/identity.key',
    { deleted: /identity.key is missing/, 'cut off': /identity.key is damaged/, unreadable: /identity.key is damaged/ },
  ],
  ['site/ca', { deleted: /authority in .* is missing/ }],
  ['site/ca/tls.crt', { deleted: /is damaged/, 'cut off': /is damaged/, unreadable: /is damaged/ }],
  ['grants/grant.json', {}],
  ['anchor.json', {}],
  ['redeemed.json', {}],
];

test('A file that is lost', async (t) => {
  await using peer = await startGranting();
  const world = await createWorld(t, peer);
  for (const [path, told] of states) {
    for (const how of damages) {
      if (path === 'site/ca' && (how === 'cut off' || how === 'unreadable')) continue;
      await t.test(`is not taken for empty: ${path} ${how}`, async (inner) => {
        const { before } = world;
        const after = await copyOf(world.after, inner);
        assert.equal(peer.store.get('g')?.redemptions, 2);
        // The statuses below are those of the next process.
        for (const name of ['one', 'two']) await rm(join(after.runtime.resources, `AccessToken-${name}.yaml`));
        const key = await textOf(after.internal.identityKey);
        const cert = await textOf(join(after.internal.certs, 'app/tls.crt'));
        const hadPath = (await textOf(join(after.internal.root, path))) !== undefined || path === 'site/ca';
        assert.ok(hadPath);
        await damage(join(before.internal.root, path), join(after.internal.root, path), how);
        const expected = told[how];
        const router = new FakeRouter();
        await using site = await startSite({ layout: after, router: 'router', version: '1', log, start: router.start });
        await until(async () => {
          site.reload();
          const { message = '' } = await statusOf(after, 'Site-west.yaml');
          const unready = site.unready ?? '';
          return expected === undefined ? message.startsWith('OK') || unready !== '' : expected.test(message) || expected.test(unready);
        }, `${path} ${how} is reported`);
        for (const { revoked } of router.configs) assert.deepEqual(revoked.sites, [EAST]);
        if (site.unready === undefined) {
          const ofTokens = async (): Promise<readonly Status[]> =>
            Promise.all(['one', 'two'].map((name) => statusOf(after, `AccessToken-${name}.yaml`)));
          await until(
            async () => (await ofTokens()).every(({ status }) => status !== undefined && status !== 'Pending'),
            'tokens are judged',
          );
          for (const { status, message = '' } of await ofTokens()) assert.equal(status, 'Ready', message);
        }
        assert.equal(peer.store.get('g')?.redemptions, 2, 'no token is redeemed twice');
        const grant = await statusOf(after, 'AccessGrant-grant.yaml');
        assert.ok((grant.redemptions ?? 1) === 1 || grant.status === 'Error', JSON.stringify(grant));
        const record = parseGrant((await textOf(join(after.internal.grants, 'grant.json'))) ?? '', 'grant');
        assert.ok(record === undefined || record.redemptions === 1);
        if (path !== 'site/identity.key') assert.equal(await textOf(after.internal.identityKey), key);
        else assert.ok(how !== 'deleted' || (await textOf(after.internal.identityKey)) === undefined, 'no other key is made');
        assert.equal(await textOf(join(after.internal.certs, 'app/tls.crt')), cert);
      });
    }
  }
});
