import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RequestHead, ResponseHead, Stream, StreamHandler } from '../../../../src/http2/contract.ts';
import { LinkError } from '../../../../src/router/link/link-errors.ts';
import type { RouteDestination } from '../../../../src/routing/contract.ts';
import { eventually } from '../../../harness/wait.ts';
import { EAST_ROUTER, oneSide, there, type OneSide } from './two-sides.ts';

/** A stream without another end. */
class Asking implements Stream {
  readonly id = 1;
  readonly queued = 0;
  readonly held = 0;
  answer: ResponseHead | undefined;

  respond(head: ResponseHead): void {
    this.answer = head;
  }
  write(): boolean {
    return true;
  }
  end(): void {}
  reset(): void {}
  consumed(): void {}
}

interface Tried {
  readonly to: RouteDestination;
  readonly handler: StreamHandler;
}

/** A local side, with a way to the key by the left, whose requests to other routers end as `answer` says: it gets the handler, as a link would have it. */
function sideThatTries(answer: (tried: Tried, count: number) => void): OneSide & { readonly tried: readonly Tried[] } {
  const tried: Tried[] = [];
  const side = oneSide(undefined, {
    open: (to, _head, handler) => {
      const attempt = { to, handler };
      tried.push(attempt);
      setImmediate(answer, attempt, tried.length);
      return new Asking();
    },
  });
  side.routing.byKey.set('key', [OVER_LEFT]);
  return { ...side, tried };
}

const HEAD: RequestHead = { method: 'CONNECT', authority: 'key', fields: {} };
const OVER_LEFT = { ...there(EAST_ROUTER, 2), path: ['left', EAST_ROUTER] };
const OVER_RIGHT = { ...there(EAST_ROUTER, 2), path: ['right', EAST_ROUTER] };
const refused = (status: number, error: string): ResponseHead => ({ status, fields: { 'proxy-status': `earshot; error=${error}` } });

describe('a connection that is being made', () => {
  it('is given up when a site that it came through is revoked meanwhile', async () => {
    const origin = '33333333-3333-8333-8333-333333333333';
    const asked = Promise.withResolvers<Tried>();
    const { local } = sideThatTries((tried) => asked.resolve(tried));
    await using _ = local;
    local.enter(new Asking(), { ...HEAD, fields: { 'earshot-origin': origin } }, { owner: 'site' });
    const { handler } = await asked.promise;
    local.block((path) => path.includes(origin));
    assert.equal(local.openConnections, 0);
    handler.onResponse({ status: 200, fields: {} });
    assert.equal(local.openConnections, 0);
  });

  it('is begun for one site however many another has', async () => {
    const { local } = sideThatTries(() => {});
    await using _ = local;
    for (let count = 0; count < 100_000; count += 1) local.enter(new Asking(), HEAD, { owner: 'greedy' });
    const honest = new Asking();
    local.enter(honest, HEAD, { owner: 'honest' });
    assert.deepEqual([honest.answer, local.openConnections], [undefined, 100_001]);
  });

  it('takes another way to the same router when the first one breaks', async () => {
    const { local, routing, tried } = sideThatTries(({ to, handler }) => {
      if (to.path[0] === 'right') {
        handler.onResponse({ status: 200, fields: {} });
        return;
      }
      handler.onReset({ code: 2, reason: 'the link died' });
      // As it is with links: routing hears of it after the streams.
      routing.byKey.set('key', [OVER_RIGHT]);
    });
    await using _ = local;
    const answer = await enter(local);
    assert.equal(answer.status, 200);
    assert.deepEqual(
      tried.map(({ to }) => to.path[0]),
      ['left', 'right'],
    );
  });

  it('waits a moment for a connector that has just moved', async () => {
    const { local, routing, tried } = sideThatTries(({ to, handler }, count) => {
      if (count === 2) routing.byKey.set('key', [OVER_RIGHT]);
      handler.onResponse(to === OVER_RIGHT ? { status: 200, fields: {} } : refused(404, 'destination_not_found'));
    });
    await using _ = local;
    const answer = await enter(local);
    assert.equal(answer.status, 200);
    assert.equal(tried.length, 3);
  });

  it('is refused where no way is found soon', async () => {
    const { local, tried } = sideThatTries(({ handler }) => handler.onResponse(refused(502, 'destination_unavailable')));
    await using _ = local;
    const answer = await enter(local);
    assert.equal(answer.status, 502);
    assert.equal(tried.length, 6);
  });

  it('is refused at once where it was the server that refused', async () => {
    const { local, tried } = sideThatTries(({ handler }) => handler.onResponse(refused(502, 'connection_refused')));
    await using _ = local;
    await enter(local);
    assert.equal(tried.length, 1);
  });

  it('takes no destination for one that refuses since this router has no room for a client’s connection to it', async () => {
    const [near, far] = [there(EAST_ROUTER, 1), there('33333333-3333-8333-8333-333333333333/one', 100)];
    const tried: string[] = [];
    const { local, routing } = oneSide(undefined, {
      open: (to, _head, handler, { owner }) => {
        tried.push(`${owner} ${to.cost}`);
        if (owner === 'greedy' && to === near) throw new LinkError('busy', 'as many as leave room for others');
        setImmediate(() => handler.onResponse({ status: 200, fields: {} }));
        return new Asking();
      },
    });
    await using _ = local;
    routing.byKey.set('key', [near, far]);
    assert.equal((await enter(local, 'greedy')).status, 200);
    assert.equal((await enter(local, 'other')).status, 200);
    assert.deepEqual(tried, ['greedy 1', 'greedy 100', 'other 1']);
  });

  for (const [what, path] of [
    ['a hop of its path falls silent, to the same router', OVER_RIGHT],
    ['the router itself falls silent, to another one', { ...there('33333333-3333-8333-8333-333333333333/one', 9), links: ['other'] }],
  ] as const)
    it(`goes another way when ${what}, while it waits for an answer`, async () => {
      const resets: number[] = [];
      class Counted extends Asking {
        override reset(code = 0): void {
          resets.push(code);
        }
      }
      const tried: Tried[] = [];
      const { local, routing } = oneSide(undefined, {
        open: (to, _head, handler) => {
          tried.push({ to, handler });
          return new Counted();
        },
      });
      await using _ = local;
      routing.byKey.set('key', [OVER_LEFT]);
      const asking = new Asking();
      local.enter(asking, HEAD, { owner: 'site' });
      await eventually('the first attempt', () => tried.length === 1);
      routing.silent.add('left');
      routing.byKey.set('key', [path, { ...OVER_LEFT, cost: 65_535 }]);
      local.routingChanged();
      await eventually('the second attempt', () => tried.length === 2);
      assert.deepEqual(resets, [8], 'the first request is taken back');
      assert.equal(tried[1]?.to, path);
      tried[1].handler.onResponse({ status: 200, fields: {} });
      assert.equal(asking.answer?.status, 200);
    });

  it('goes on waiting for an answer over a silent path where there is no other', async () => {
    const tried: Tried[] = [];
    const { local, routing } = oneSide(undefined, {
      open: (to, _head, handler) => {
        tried.push({ to, handler });
        return new Asking();
      },
    });
    await using _ = local;
    routing.byKey.set('key', [OVER_LEFT]);
    const asking = new Asking();
    local.enter(asking, HEAD, { owner: 'site' });
    await eventually('the attempt', () => tried.length === 1);
    routing.silent.add('left');
    routing.byKey.set('key', [{ ...OVER_LEFT, cost: 65_535 }]);
    for (let change = 0; change < 3; change += 1) local.routingChanged();
    assert.equal(tried.length, 1);
    tried[0]?.handler.onResponse({ status: 200, fields: {} });
    assert.equal(asking.answer?.status, 200);
    assert.equal(tried.length, 1);
  });

  it('looks for no other way once its client is gone', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { local, tried } = sideThatTries(({ handler }) => handler.onReset({ code: 2, reason: 'the link died' }));
    await using _ = local;
    const handler = local.enter(new Asking(), HEAD, { owner: 'site' });
    await answered();
    t.mock.timers.tick(1);
    await answered();
    assert.equal(tried.length, 2);
    handler.onReset({ code: 8, reason: 'the client went away' });
    assert.equal(local.openConnections, 0);
    t.mock.timers.tick(1_000);
    assert.equal(tried.length, 2);
  });
});

/** A connection to the key. @returns how it was answered */
async function enter(local: OneSide['local'], owner = 'site'): Promise<ResponseHead> {
  const stream = new Asking();
  local.enter(stream, HEAD, { owner });
  return eventually('an answer', () => stream.answer);
}

/** Two turns: the answer is given in the first. */
async function answered(): Promise<void> {
  for (let turn = 0; turn < 2; turn += 1) await new Promise(setImmediate);
}
