import assert from 'node:assert/strict';
import dns, { type LookupAddress, type LookupAllOptions } from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { AGAIN, HostNames, MOST_AGE, PATIENCE } from '../../../src/net/host-names.ts';
import { freePort } from '../support/free-port.ts';
import { testAuthority } from '../router/support/certificates.ts';
import { access, accessPort, ask, connector, echoServer, link, listener, siteConfig, start, until } from '../router/support/site.ts';

const addresses = (...all: readonly string[]): LookupAddress[] => all.map((address) => ({ address, family: 4 }));
const failed = (code: string): NodeJS.ErrnoException => Object.assign(new Error(code), { code });

type Done = (error: NodeJS.ErrnoException | null, found: LookupAddress[]) => void;

/** Names whose lookups last until the test answers them, by a clock that only the test moves. */
class Held {
  readonly asked: string[] = [];
  readonly answers: string[] = [];
  readonly changes: string[] = [];
  readonly names: HostNames;
  readonly #waiting = new Map<string, Done>();
  readonly #timers: TestContext['mock']['timers'];
  #now = 0;

  constructor({ mock }: TestContext) {
    mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 1_000 });
    mock.method(performance, 'now', () => this.#now);
    this.#timers = mock.timers;
    this.names = new HostNames((host, _, done) => {
      assert.ok(!this.#waiting.has(host), `${host} is being looked up already`);
      this.asked.push(host);
      this.#waiting.set(host, done);
    });
    this.names.onChange((host, since) => void this.changes.push(`${host} ${since}`));
  }

  ask(host = 'db'): () => void {
    return this.names.resolve(host, (found, error) => {
      this.answers.push(found.map(({ address }) => address).join(' ') || (error ?? 'nothing'));
    });
  }

  answer(answer: readonly string[] | string, host = 'db'): void {
    const done = this.#waiting.get(host);
    assert.ok(done !== undefined, `${host} is not being looked up`);
    this.#waiting.delete(host);
    if (typeof answer === 'string') done(failed(answer), []);
    else done(null, addresses(...answer));
  }

  pass(milliseconds: number): void {
    this.#now += milliseconds;
    this.#timers.tick(milliseconds);
  }

  taken(): readonly string[] {
    return this.answers.splice(0);
  }
}

describe('the addresses of a name', () => {
  it('are looked up once for all concurrent requests, and not delivered to cancelled ones', (t) => {
    const held = new Held(t);
    held.ask();
    held.ask()();
    held.ask();
    held.answer(['10.0.0.1', '10.0.0.2']);
    assert.deepEqual([held.asked, held.taken()], [['db'], ['10.0.0.1 10.0.0.2', '10.0.0.1 10.0.0.2']]);
  });

  it('are the last known ones where the resolver hangs, at once from then on, until it answers', async (t) => {
    const held = new Held(t);
    held.ask();
    held.answer(['10.0.0.1']);
    held.taken();
    held.pass(500);
    held.ask();
    held.pass(PATIENCE - 1);
    assert.deepEqual(held.taken(), []);
    held.pass(1);
    assert.deepEqual(held.taken(), ['10.0.0.1']);
    assert.deepEqual(held.names.stale, { db: 1_000 });
    held.ask();
    held.ask()();
    assert.deepEqual(held.taken(), [], 'never within the call');
    await nextTurn();
    assert.deepEqual(held.taken(), ['10.0.0.1']);
    held.answer(['10.0.0.9']);
    assert.deepEqual([held.names.stale, held.changes], [{}, ['db 1000', 'db undefined']]);
    held.ask();
    held.answer(['10.0.0.9']);
    assert.deepEqual(held.taken(), ['10.0.0.9']);
  });

  it('are the last known ones where the resolver fails, which is asked again until it does not', (t) => {
    const held = new Held(t);
    held.ask();
    held.answer(['10.0.0.1']);
    held.ask();
    held.answer('EAI_AGAIN');
    assert.deepEqual(held.taken(), ['10.0.0.1', '10.0.0.1']);
    for (let tries = 0; tries < 3; tries += 1) {
      held.pass(AGAIN);
      held.answer('EAI_AGAIN');
    }
    assert.deepEqual(held.names.stale, { db: 1_000 });
    held.pass(AGAIN);
    held.answer(['10.0.0.2']);
    assert.deepEqual(held.names.stale, {});
    held.pass(AGAIN);
    assert.equal(held.asked.length, 6, 'a known name is not looked up');
  });

  it('are none where the resolver says so, whatever they were', (t) => {
    const held = new Held(t);
    held.ask();
    held.answer(['10.0.0.1']);
    held.ask();
    held.answer('EAI_AGAIN');
    held.pass(AGAIN);
    held.answer('ENOTFOUND');
    held.taken();
    held.ask();
    held.answer('EAI_AGAIN');
    assert.deepEqual([held.taken(), held.names.stale], [['EAI_AGAIN'], {}]);
  });

  it('are forgotten after a day without an answer', (t) => {
    const held = new Held(t);
    held.ask();
    held.answer(['10.0.0.1']);
    held.ask();
    held.answer('EAI_AGAIN');
    held.pass(MOST_AGE);
    held.pass(1);
    held.answer('EAI_AGAIN');
    assert.deepEqual(held.names.stale, {});
    held.taken();
    held.ask();
    held.answer('EAI_AGAIN');
    assert.deepEqual(held.taken(), ['EAI_AGAIN']);
  });

  it('are known of a thousand names, those that were wanted last, also where no resolver answers', (t) => {
    const held = new Held(t);
    const names = Array.from({ length: 3_000 }, (_, index) => `name-${index}`);
    for (const name of names) {
      held.ask('db');
      if (name === 'name-0') held.answer(['192.0.2.1'], 'db');
      else if (name === 'name-1') held.answer('EAI_AGAIN', 'db');
      held.ask(name);
      held.answer(['192.0.2.2'], name);
      // The second time: from now on its last answer stands for one that does not come.
      held.ask(name);
      held.answer('EAI_AGAIN', name);
    }
    const stale = Object.keys(held.names.stale);
    assert.equal(stale.length, 1_024);
    assert.deepEqual([stale.includes('db'), stale.includes('name-2999'), stale.includes('name-0')], [true, true, false]);
    // None of the others is asked for again.
    held.asked.length = 0;
    held.pass(AGAIN);
    assert.equal(held.asked.length, 1_024);
  });

  it('of one name do not wait for those of others that hang', (t) => {
    const held = new Held(t);
    const hanging = ['a', 'b', 'c'];
    for (const host of hanging) held.ask(host);
    held.pass(PATIENCE);
    for (const host of hanging) held.answer('EAI_AGAIN', host);
    held.asked.length = 0;
    for (const host of hanging) held.ask(host);
    held.ask('db');
    assert.deepEqual(held.asked, ['a', 'db']);
    held.answer('EAI_AGAIN', 'a');
    held.answer(['10.0.0.1'], 'b');
    held.answer(['10.0.0.2'], 'c');
    held.asked.length = 0;
    for (const host of hanging) held.ask(host);
    assert.deepEqual(held.asked, hanging, 'those that were answered are as good as any');
  });
});

it('a router without a resolver connects to its servers and opens its links as before, and reports it', async (t) => {
  let fails = false;
  const { lookup } = dns;
  const answer = (host: string, options: LookupAllOptions, done: Done): void => {
    if (!host.endsWith('.example')) lookup(host, options, done);
    else setImmediate(() => (fails ? done(failed('EAI_AGAIN'), []) : done(null, addresses('127.0.0.1'))));
  };
  t.mock.method(dns, 'lookup', answer);
  syncBuiltinESMExports();
  t.after(() => setImmediate(syncBuiltinESMExports));
  const authority = await testAuthority();
  const [bundle, named] = [await authority.issue(), await authority.issue({ hosts: ['hub.example'] })];
  await using echo = await echoServer();
  const port = await freePort();
  const hubConfig = { ...siteConfig('hub'), accesses: [access(named)], listeners: [listener('key', port)] };
  await using hub = await start(hubConfig);
  const hubLink = link('hub', await accessPort(hub), bundle);
  const toHub = { ...hubLink, endpoints: hubLink.endpoints.map((endpoint) => ({ ...endpoint, host: 'hub.example' })) };
  const config = { ...siteConfig('west'), links: [toHub], connectors: [{ ...connector('key', echo.port), hosts: ['db.example'] }] };
  await using west = await start(config);
  const listening = (what: string) => until(hub, what, ({ listeners }) => listeners['Listener/key']?.listening === true);
  await listening('the first link');
  assert.equal(await ask(port, 'hello'), 'hello');
  fails = true;
  assert.equal(await ask(port, 'hello'), 'hello');
  west.apply({ ...config, links: [] });
  await until(hub, 'no link', ({ incoming }) => incoming.length === 0);
  west.apply(config);
  await until(west, 'the link again', ({ links }) => links['hub']?.operational === true);
  await listening('the link again');
  assert.equal(await ask(port, 'hello'), 'hello');
  assert.deepEqual(Object.keys(west.state.staleNames ?? {}).toSorted(), ['db.example', 'hub.example']);
});
