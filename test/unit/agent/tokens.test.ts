import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { test } from 'node:test';
import { pino } from 'pino';
import type { AccessToken, Site } from '../../../src/api/skupper/index.ts';
import { API_VERSION } from '../../../src/api/skupper/names.ts';
import { Tokens, type TokensOptions } from '../../../src/agent/tokens.ts';
import type { Token } from '../../../src/trust/tokens/contract.ts';
import { until } from '../platform/support.ts';
import { offer, startGranting } from '../trust/support/grant-server.ts';
import { MemoryBundles } from '../trust/support/memory-stores.ts';
import { makeAuthority, makeSite } from '../trust/support/site.ts';

const site: Site = { apiVersion: API_VERSION, kind: 'Site', metadata: { name: 'west' }, spec: {} };

const aToken = ({ url, code, ca }: Pick<Token, 'url' | 'code' | 'ca'>): AccessToken => ({
  apiVersion: API_VERSION,
  kind: 'AccessToken',
  metadata: { name: 'west' },
  spec: { url, code, ca },
});

/** Stores in memory, and what can be said of them afterwards. */
function aSiteOf(given: { readonly onKey?: () => Promise<string>; readonly onPut?: (what: string) => Promise<void> } = {}) {
  const { onPut = () => Promise.resolve() } = given;
  const own = makeSite();
  const links = new Map<string, unknown>();
  const bundles = new MemoryBundles();
  const counted = { keys: 0, changes: 0 };
  const key = makeAuthority().key.export({ type: 'pkcs8', format: 'pem' }).toString();
  const options: TokensOptions = {
    stores: {
      bundles: Object.assign(bundles, {
        put: async (bundle: Parameters<MemoryBundles['put']>[0]) => {
          await onPut('bundle');
          await MemoryBundles.prototype.put.call(bundles, bundle);
        },
      }),
      pendingKeys: {
        keyFor: () => {
          counted.keys += 1;
          return given.onKey?.() ?? Promise.resolve(key);
        },
        drop: () => Promise.resolve(),
      },
      tokens: {
        redeemed: () => Promise.resolve(new Map()),
        setRedeemed: () => Promise.resolve(),
        putLink: async (link) => {
          await onPut('link');
          links.set(link.metadata.name ?? '', link.spec.endpoints);
        },
        removeLink: (name) => Promise.resolve(void links.delete(name)),
        createdBundles: () => Promise.resolve(new Set<string>()),
        removeBundle: () => Promise.resolve(),
      },
    },
    identity: { id: own.siteId, key: own.siteKey },
    log: pino({ enabled: false }),
    onChange: () => void (counted.changes += 1),
  };
  return { tokens: new Tokens(options), links, counted };
}

/** A place where something stops until a test lets it go on. */
function gate() {
  const reached = Promise.withResolvers<void>();
  const open = Promise.withResolvers<void>();
  return {
    reached: reached.promise,
    open: () => open.resolve(),
    pass: () => {
      reached.resolve();
      return open.promise;
    },
  };
}

test('a token that is taken away while it is being redeemed is not tried again', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const failed = Promise.withResolvers<never>();
  const { tokens, counted } = aSiteOf({ onKey: () => failed.promise });
  const token = aToken({ url: 'https://west.example:9090/v1/redeem/west', code: 'code', ca: makeAuthority().ca });
  await tokens.ensure([token], site);
  await setImmediate();
  assert.equal(counted.keys, 1);
  await tokens.ensure([], site);
  failed.reject(new Error('the disk is full'));
  await setImmediate();
  t.mock.timers.tick(120_000);
  assert.equal(counted.keys, 1);
});

test('a token named like a bundle of its own site is reported with advice, and is redeemed once the name is free', async () => {
  await using west = await startGranting();
  const { tokens, links } = aSiteOf();
  const token = aToken(await west.issue());
  const facts = (await tokens.ensure([token], site, new Set(['west']))).get('west');
  assert.equal(facts?.problem?.code, 'name-taken');
  assert.match(facts.problem.message, /west is already the name of a Link or TLS bundle of this site.*give the token another name/);
  assert.equal(west.store.get('g')?.redemptions, 0);
  await tokens.ensure([token], site);
  await until(async () => (await tokens.ensure([token], site)).get('west')?.redeemed === true, 'it is redeemed');
  assert.deepEqual([...links.keys()], ['west']);
});

test('a name that is taken while a token of that name is redeemed stays as it is', async () => {
  await using west = await startGranting();
  const key = gate();
  const pem = makeAuthority().key.export({ type: 'pkcs8', format: 'pem' }).toString();
  const { tokens, links } = aSiteOf({ onKey: () => key.pass().then(() => pem) });
  const token = aToken(await west.issue());
  await tokens.ensure([token], site);
  await key.reached;
  const taken = new Set(['west']);
  await tokens.ensure([token], site, taken);
  key.open();
  await until(async () => (await tokens.ensure([token], site, taken)).get('west')?.problem?.code === 'name-taken', 'it is reported');
  assert.deepEqual([...links], []);
});

for (const what of ['bundle', 'link']) {
  test(`no Link is left of a token that is taken away while its ${what} is being written`, async () => {
    await using west = await startGranting();
    const { reached, open, pass } = gate();
    const { tokens, links, counted } = aSiteOf({ onPut: (put) => (put === what ? pass() : Promise.resolve()) });
    await tokens.ensure([aToken(await west.issue())], site);
    await reached;
    await tokens.ensure([], site);
    open();
    await setImmediate();
    await setImmediate();
    assert.deepEqual([...links], []);
    assert.equal(counted.changes, 0);
  });
}

test('a redeemed bundle that could not be stored is stored at the next try, without another request', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  await using west = await startGranting();
  let refused = 0;
  const full = (): Promise<void> => Promise.reject(new Error('exceeded quota'));
  const { tokens, links } = aSiteOf({ onPut: (put) => (put === 'link' && (refused += 1) < 3 ? full() : Promise.resolve()) });
  using _tokens = tokens;
  const token = aToken(await west.issue());
  const facts = async () => (await tokens.ensure([token], site)).get('west');
  await facts();
  await until(async () => (await facts())?.problem?.message.includes('exceeded quota') === true, 'it is reported');
  await until(async () => {
    t.mock.timers.tick(60_000);
    return (await facts())?.redeemed === true;
  }, 'it is kept');
  assert.deepEqual([refused, [...links.keys()]], [3, ['west']]);
  assert.equal((await Array.fromAsync(west.ledger.issued())).length, 1);
});

test('a token that replaces one that is being stored wins', async () => {
  await using west = await startGranting();
  const endpoints = [{ name: 'inter-router', host: 'south.example.com', port: '55671' }];
  await using south = await startGranting({ offer: () => ({ ...offer, siteName: 'south', endpoints }) });
  const { reached, open, pass } = gate();
  let puts = 0;
  const { tokens, links } = aSiteOf({ onPut: (put) => (put === 'link' && (puts += 1) === 1 ? pass() : Promise.resolve()) });
  await tokens.ensure([aToken(await west.issue())], site);
  await reached;
  const second = aToken(await south.issue());
  await tokens.ensure([second], site);
  await until(() => south.server.answered['redeemed'] === 1, 'the second is redeemed');
  open();
  await until(async () => (await tokens.ensure([second], site)).get('west')?.redeemed === true, 'the second is kept');
  assert.deepEqual([...links.values()], [endpoints]);
});

test('the first failure is reported at once, and later ones of the same kind are not', async () => {
  const { tokens, counted } = aSiteOf();
  const token = aToken({ url: 'https://127.0.0.1:1/v1/redeem/west', code: 'code', ca: makeAuthority().ca });
  await tokens.ensure([token], site);
  await until(() => counted.changes === 1, 'the failure is reported');
  const facts = (await tokens.ensure([token], site)).get('west');
  assert.equal(facts?.problem?.code, 'unreachable');
  assert.equal(facts.retrying, 'soon');
  await until(() => counted.keys >= 3, 'it is tried again');
  assert.equal(counted.changes, 1);
  tokens[Symbol.dispose]();
});

test('tokens of unreachable sites are tried a few at a time, and all of them eventually', async () => {
  const hanging = gate();
  const { tokens, counted } = aSiteOf({ onKey: () => hanging.pass().then(() => Promise.reject(new Error('no key'))) });
  using _tokens = tokens;
  const base = aToken({ url: 'https://127.0.0.1:1/v1/redeem/x', code: 'code', ca: makeAuthority().ca });
  const many = Array.from({ length: 20 }, (_, index) => ({ ...base, metadata: { name: `token-${index}` } }));
  await tokens.ensure(many, site);
  await hanging.reached;
  await setImmediate();
  assert.equal(counted.keys, 8);
  await tokens.ensure(many.slice(0, 19), site);
  hanging.open();
  await until(() => counted.changes === 19, 'all have had their turn');
  assert.equal(counted.keys, 19, 'the one that was taken away has had no turn');
});

test('a token of a site with two routers becomes a Link for each, and what it made goes when it is taken away meanwhile', async () => {
  const endpoints = ['a', 'b'].flatMap((group) =>
    ['inter-router', 'edge'].map((name) => ({ name, host: `${group}.example`, port: '1', group })),
  );
  await using west = await startGranting({ offer: () => ({ ...offer, endpoints }) });
  const { tokens, links } = aSiteOf();
  const token = aToken(await west.issue({ redemptionsAllowed: 2 }));
  await until(async () => (await tokens.ensure([token], site)).get('west')?.redeemed === true, 'it is redeemed');
  assert.deepEqual(
    [...links].map(([name, of]) => [name, (of as typeof endpoints).map(({ group }) => group)]),
    [
      ['west-1', ['a', 'a']],
      ['west-2', ['b', 'b']],
    ],
  );

  const second = gate();
  let puts = 0;
  const other = aSiteOf({ onPut: async (what) => (what === 'link' && (puts += 1) === 2 ? second.pass() : undefined) });
  await other.tokens.ensure([token], site);
  await second.reached;
  await other.tokens.ensure([], site);
  second.open();
  await until(() => other.links.size === 0, 'both are taken back');
  assert.equal(puts, 2);
});
