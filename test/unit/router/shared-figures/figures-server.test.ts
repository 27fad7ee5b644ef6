import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Stream } from '../../../../src/http2/contract.ts';
import { limitTable } from '../../../../src/limits/table.ts';
import type { MemoryUser } from '../../../../src/memory/memory-users.ts';
import { FiguresServer } from '../../../../src/router/shared-figures/figures-server.ts';

class Answered implements Stream {
  readonly id = 1;
  queued = 0;
  readonly calls: string[] = [];

  get held(): number {
    return this.queued;
  }

  respond({ status }: { readonly status: number }): void {
    this.calls.push(String(status));
  }

  write(chunk: Buffer): boolean {
    this.queued += chunk.length;
    return false;
  }

  end(): void {
    this.calls.push('end');
  }

  reset(): void {
    this.calls.push('reset');
    this.queued = 0;
  }

  consumed(): void {}
}

function serve(): { readonly server: FiguresServer; readonly users: Set<MemoryUser>; collected: number } {
  const users = new Set<MemoryUser>();
  const served = {
    users,
    collected: 0,
    server: new FiguresServer({
      collect: () => {
        served.collected += 1;
        return { version: '1', uptime: 1, open: 0, opened: 0, failed: 0, up: 0, down: 0, links: [] };
      },
      memory: { add: (user) => void users.add(user), delete: (user) => void users.delete(user) },
    }),
  };
  return served;
}

const whose = { owner: 'site a', key: 'earshot:observe' };

suite('an answer with figures', () => {
  test('counts in the quota of the peer until the peer has read it', () => {
    const { server, users } = serve();
    const stream = new Answered();
    const handler = server.answer(stream, whose);
    const [user] = users;
    assert.deepEqual([user?.owner, user?.key], ['site a', 'earshot:observe']);
    assert.ok((user?.held ?? 0) > stream.queued && stream.queued > 0);
    stream.queued = 0;
    handler.onEnd();
    assert.equal(users.size, 0);
    assert.deepEqual(stream.calls, ['200', 'end']);
  });

  test('is reset at its deadline if the peer does not read it, even if the peer has ended its half', (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { server, users } = serve();
    const stream = new Answered();
    server.answer(stream, whose).onEnd();
    t.mock.timers.tick(limitTable.observationTime.value - 1);
    assert.equal(users.size, 1);
    t.mock.timers.tick(1);
    assert.equal(users.size, 0);
    assert.equal(stream.calls.at(-1), 'reset');
  });

  test('is released if the peer resets it, and reset if memory is needed', () => {
    const { server, users } = serve();
    server.answer(new Answered(), whose).onReset({ code: 8, reason: 'gone' });
    assert.equal(users.size, 0);
    const evicted = new Answered();
    server.answer(evicted, whose);
    for (const user of users) user.evict('memory is needed');
    assert.deepEqual([users.size, evicted.calls.at(-1)], [0, 'reset']);
  });

  test('is collected once for all that ask at the same time', () => {
    const served = serve();
    for (let peer = 0; peer < 100; peer += 1) served.server.answer(new Answered(), { owner: `site ${peer}` });
    assert.equal(served.collected, 1);
  });

  test('is refused beyond the rate of one peer only', () => {
    const { server } = serve();
    const statuses = (owner: string, count: number): readonly (string | undefined)[] =>
      Array.from({ length: count }, () => {
        const stream = new Answered();
        server.answer(stream, { owner });
        return stream.calls[0];
      });
    const { burst } = limitTable.observationsOfPeer.value;
    assert.equal(
      statuses('site a', burst).every((status) => status === '200'),
      true,
    );
    assert.deepEqual(statuses('site a', 1), ['503']);
    assert.deepEqual(statuses('site b', 1), ['200']);
  });
});
