import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { StreamHandler, StreamReset } from '../../../../src/http2/contract.ts';
import { openFirst, type DialTarget } from '../../../../src/router/link/dial/dial-endpoints.ts';
import { Dialer } from '../../../../src/router/link/dial/dialer.ts';
import { LinkError } from '../../../../src/router/link/link-errors.ts';
import type { Link } from '../../../../src/router/link/link.ts';
import { FORWARD } from '../../../../src/router/wire.ts';
import { eventually } from '../../../harness/wait.ts';
import { linkHost } from '../support/link-host.ts';
import { siteConfig } from '../support/site.ts';
import { Acceptor, type Manners } from './support/acceptor.ts';

const targetOf = (...endpoints: ReturnType<DialTarget['endpoints']>): DialTarget => ({
  cost: 1,
  endpoints: () => endpoints,
  servedBy: () => true,
  ofLearned: () => [],
  beginsAs: () => true,
  equals: () => true,
});

const QUIET: StreamHandler = { onResponse() {}, onData() {}, onEnd() {}, onDrain() {}, onReset() {} };

interface Opened extends AsyncDisposable {
  readonly dialer: Dialer;
  readonly acceptor: Acceptor;
  /** Links that came up, in order. */
  readonly up: readonly Link[];
  attempts(): number;
}

/** A dialer whose first link is up. */
async function opened(manners: Manners = {}): Promise<Opened> {
  const acceptor = new Acceptor(manners);
  const up: Link[] = [];
  const host = linkHost(siteConfig('dialer'), {
    events: {
      onUp: (link) => void up.push(link),
      onDown: (link) => dialer.linkDown(link),
      onClosed: () => {},
      onCost: () => {},
      onSilence: (link) => dialer.linkSilence(link),
      onLeaving: () => {},
    },
  });
  const dialer: Dialer = new Dialer(host, 'link', targetOf({ peer: 'the peer', dial: acceptor.dial }));
  const attempts = (): number => acceptor.dialed.filter((protocol) => protocol === FORWARD).length;
  await eventually('the first link', () => dialer.opened !== undefined);
  return {
    dialer,
    acceptor,
    up,
    attempts,
    [Symbol.asyncDispose]: async () => {
      dialer.destroy();
      host[Symbol.dispose]();
      await acceptor[Symbol.asyncDispose]();
    },
  };
}

function connectionOf(link: Link | undefined): { suspect(milliseconds: number): void; recover(): void } {
  const [connection] = link?.connections ?? [];
  assert.ok(connection !== undefined);
  return connection;
}

describe('a link that is silent', () => {
  it('stays up, says since when, and another is opened beside it', async () => {
    await using world = await opened();
    const { dialer, up } = world;
    const before = Date.now();
    connectionOf(up[0]).suspect(2_000);
    const { silentSince = 0, operational } = dialer.state;
    assert.ok(operational && silentSince >= before - 2_000 && silentSince <= Date.now() - 2_000);
    await eventually('another link', () => dialer.opened?.link === up[1] && up.length === 2);
    assert.equal(up[0]?.state, 'up', 'what it carries goes on');
    assert.equal(dialer.state.silentSince, undefined);
  });

  it('is used again at once when it recovers before another is up', async () => {
    let isFirst = true;
    const held = Promise.withResolvers<void>();
    await using world = await opened({
      beforeAttach: () => {
        if (isFirst) isFirst = false;
        else return held.promise;
        return undefined;
      },
    });
    const { dialer, up, attempts, acceptor } = world;
    connectionOf(up[0]).suspect(2_000);
    await eventually('another attempt', () => attempts() === 2);
    connectionOf(up[0]).recover();
    await eventually('only the first link is left', () => acceptor.open === 2);
    assert.deepEqual([dialer.opened?.link === up[0], up.length], [true, 1]);
    held.resolve();
  });

  for (const [what, streams, kept] of [
    ['the newer where both carry as much', [0, 0], 1],
    ['the first where that carries more', [2, 1], 0],
    ['the newer where that carries more', [1, 2], 1],
  ] as const)
    it(`and another beside it become one a while after it recovers: ${what}`, async (t) => {
      await using world = await opened();
      const { dialer, up } = world;
      connectionOf(up[0]).suspect(2_000);
      await eventually('another link', () => dialer.opened?.link === up[1] && up.length === 2);
      for (const [index, count] of streams.entries()) t.mock.getter(up[index] as Link, 'openStreams', () => count);
      t.mock.timers.enable({ apis: ['setTimeout'] });
      connectionOf(up[0]).recover();
      t.mock.timers.tick(999);
      assert.deepEqual([up[0]?.state, up[1]?.state], ['up', 'up'], 'the other end may still take the first for silent');
      t.mock.timers.tick(1);
      t.mock.timers.reset();
      assert.equal(dialer.opened?.link, up[kept]);
      assert.equal(up[1 - kept]?.state, 'down');
      assert.equal(up.length, 2, 'no third is opened');
    });

  it('that recovers and is silent again leaves the other as it is', async (t) => {
    await using world = await opened();
    const { dialer, up } = world;
    connectionOf(up[0]).suspect(2_000);
    await eventually('another link', () => dialer.opened?.link === up[1] && up.length === 2);
    t.mock.getter(up[0] as Link, 'openStreams', () => 2);
    t.mock.timers.enable({ apis: ['setTimeout'] });
    connectionOf(up[0]).recover();
    t.mock.timers.tick(500);
    connectionOf(up[0]).suspect(2_000);
    t.mock.timers.tick(60_000);
    assert.deepEqual([up[0]?.state, up[1]?.state], ['up', 'up']);
    assert.equal(dialer.opened?.link, up[1]);
  });

  it('has its place taken by one that recovered, and no third is opened', async (t) => {
    await using world = await opened();
    const { dialer, up, attempts } = world;
    connectionOf(up[0]).suspect(2_000);
    await eventually('another link', () => dialer.opened?.link === up[1] && up.length === 2);
    t.mock.timers.enable({ apis: ['setTimeout'] });
    connectionOf(up[0]).recover();
    connectionOf(up[1]).suspect(2_000);
    assert.equal(dialer.opened?.link, up[0]);
    t.mock.timers.tick(60_000);
    await new Promise(setImmediate);
    assert.deepEqual([up[0]?.state, up[1]?.state, attempts()], ['up', 'up', 2]);
    connectionOf(up[1]).recover();
    t.mock.timers.tick(1_000);
    assert.equal(dialer.opened?.link, up[0]);
    assert.equal(up[1]?.state, 'down');
  });

  it('has others beside it, but never so many that one with open streams is cut', async (t) => {
    await using world = await opened();
    const { dialer, up, attempts, acceptor } = world;
    const { now } = performance;
    let later = 0;
    t.mock.method(performance, 'now', () => now.call(performance) + later);
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const attemptsLater = async (): Promise<number> => {
      for (let seconds = 0; seconds < 10; seconds += 1) {
        later += 1_000;
        t.mock.timers.tick(1_000);
        for (let iterations = 0; iterations < 20; iterations += 1) await new Promise(setImmediate);
      }
      return attempts();
    };
    const reset: string[] = [];
    const silenceNext = async (): Promise<number> => {
      const link = dialer.opened?.link;
      const handler = { ...QUIET, onReset: ({ reason }: StreamReset) => void reset.push(reason) };
      link?.open({ method: 'CONNECT', authority: 'key:1', fields: {} }, handler, { owner: 'test' });
      connectionOf(link).suspect(2_000);
      return attemptsLater();
    };
    let most = 1;
    for (let found = await silenceNext(); found > most; found = await silenceNext()) most = found;
    assert.ok(most >= 3 && acceptor.open <= 8, `${most} attempts, ${acceptor.open} connections`);
    assert.deepEqual(reset, []);
    up[1]?.cut(new LinkError('silent', 'It was given up.'));
    assert.equal(await attemptsLater(), most + 1, 'another is opened once one of them has ended');
  });

  it('that dies leaves the other in its place', async () => {
    await using world = await opened();
    const { dialer, up } = world;
    connectionOf(up[0]).suspect(2_000);
    await eventually('another link', () => dialer.opened?.link === up[1] && up.length === 2);
    up[0]?.cut(new LinkError('silent', 'It was given up.'));
    assert.equal(dialer.opened?.link, up[1]);
    assert.equal(dialer.state.problem, undefined);
  });

  it('comes back, silent, when the other dies first', async () => {
    await using world = await opened();
    const { dialer, up } = world;
    connectionOf(up[0]).suspect(2_000);
    await eventually('another link', () => dialer.opened?.link === up[1] && up.length === 2);
    up[1]?.cut(new LinkError('lost', 'It broke.'));
    assert.equal(dialer.opened?.link, up[0]);
    assert.notEqual(dialer.state.silentSince, undefined);
    await eventually('a third link', () => up.length === 3);
  });

  it('is closed with its dialer', async () => {
    await using world = await opened();
    const { dialer, up, acceptor } = world;
    connectionOf(up[0]).suspect(2_000);
    await eventually('another link', () => dialer.opened?.link === up[1] && up.length === 2);
    dialer.drain();
    await eventually('nothing is open', () => acceptor.open === 0);
    assert.equal(dialer.idle, true);
  });
});

describe('of several endpoints', () => {
  const { signal } = new AbortController();
  const never = (): Promise<never> => new Promise(() => {});

  it('the next is tried beside one that takes long, which is reported; the first link that is up wins', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    await using acceptor = new Acceptor();
    using host = linkHost(siteConfig('dialer'));
    const aborted: string[] = [];
    const slow: [peer: string, hasTcp: boolean][] = [];
    let connectTcp = (): void => {};
    const dead = (name: string) => ({
      peer: name,
      dial: (_protocol: string, _deadline: number, ended: AbortSignal, onTcp = (): void => {}): Promise<never> => {
        connectTcp = onTcp;
        ended.addEventListener('abort', () => aborted.push(name));
        return never();
      },
    });
    const target = targetOf(dead('one'), dead('two'), { peer: 'three', dial: acceptor.dial });
    const opening = openFirst({ host, target, last: undefined, onSlow: (...args) => slow.push(args), signal });
    for (const [name, hasTcp] of [
      ['one', false],
      ['two', true],
    ] as const) {
      if (hasTcp) connectTcp();
      t.mock.timers.tick(4_999);
      assert.equal(acceptor.dialed.length, 0);
      t.mock.timers.tick(1);
      assert.deepEqual(slow.splice(0), [[name, hasTcp]]);
    }
    const { opened: link, peer } = await opening;
    assert.equal(peer, 'three');
    // The first was dialed twice, since TCP did not answer.
    assert.deepEqual(aborted, ['one', 'one', 'two']);
    link.link.cut(new LinkError('closed', 'The test has seen enough.'));
  });

  it('a first attempt that is slow is not a problem: the state says whether TCP is connected', async (t) => {
    const changed = t.mock.fn();
    using host = linkHost(siteConfig('dialer'), { changed });
    const dialed = Promise.withResolvers<() => void>();
    const end = Promise.withResolvers<never>();
    const dialer = new Dialer(
      host,
      'link',
      targetOf({
        peer: 'one',
        dial: (_protocol, _deadline, _signal, onTcp = () => {}) => {
          dialed.resolve(onTcp);
          return end.promise;
        },
      }),
    );
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const onTcp = await dialed.promise;
    const changesAt = (milliseconds: number): number => {
      const before = changed.mock.callCount();
      t.mock.timers.tick(milliseconds);
      return changed.mock.callCount() - before;
    };
    const reported = (): object => {
      const { operational, slow: text, problem } = dialer.state;
      return { operational, slow: text, problem };
    };
    const nothing = { operational: false, slow: undefined, problem: undefined };
    assert.deepEqual([changesAt(4_999), reported()], [0, nothing]);
    const slow = 'one has not answered within 5 s, and the attempt continues. Does a firewall drop packets?';
    assert.deepEqual([changesAt(1), reported()], [1, { ...nothing, slow }]);
    onTcp();
    assert.match(dialer.state.slow ?? '', /^one has not completed the link within 5 s/);
    end.reject(new LinkError('timeout', 'No answer from one.'));
    await eventually('the failure', () => dialer.state.problem !== undefined);
    assert.deepEqual(reported(), { ...nothing, problem: { code: 'timeout', message: 'No answer from one.' } });
    assert.equal(dialer.state.lastProblem?.code, 'timeout');
    dialer.destroy();
  });

  it('one that fails at once is followed by the next at once', async () => {
    await using acceptor = new Acceptor();
    using host = linkHost(siteConfig('dialer'));
    const target = targetOf(
      { peer: 'one', dial: () => Promise.reject(new LinkError('refused', 'Connection refused.')) },
      { peer: 'two', dial: acceptor.dial },
    );
    const { opened: link, peer } = await openFirst({ host, target, last: undefined, signal });
    assert.equal(peer, 'two');
    link.link.cut(new LinkError('closed', 'The test has seen enough.'));
  });
});
