import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { pino } from 'pino';
import { COST } from '../../../src/memory/costs.ts';
import type { MemoryUser } from '../../../src/memory/memory-users.ts';
import { Memory } from '../../../src/memory/memory.ts';
import { countRead } from '../../../src/net/read-count.ts';
import { metrics } from '../../../src/telemetry/metrics.ts';

const MIB = 1 << 20;

class Held implements MemoryUser {
  readonly kind: MemoryUser['kind'];
  readonly owner: string;
  held: number;
  ended: string | undefined;
  readonly #memory: Memory;

  static add(...given: ConstructorParameters<typeof Held>): Held {
    const held = new Held(...given);
    given[0].add(held);
    return held;
  }

  constructor(memory: Memory, owner: string, held: number = COST.connection, kind: MemoryUser['kind'] = 'connection') {
    this.#memory = memory;
    this.owner = owner;
    this.held = held;
    this.kind = kind;
  }

  evict(reason: string): void {
    this.ended = reason;
    this.#memory.delete(this);
  }
}

/** Until it is said that connections have ended, which comes once all have that are to. */
async function eased(lines: readonly string[]): Promise<void> {
  while (!lines.join('').includes('connections ended')) await turn();
}

/** Half a millisecond of it. */
class Slow extends Held {
  override evict(reason: string): void {
    const until = performance.now() + 0.5;
    while (performance.now() < until);
    super.evict(reason);
  }
}

function memoryOf(
  bytes: number,
  peers = Infinity,
): { readonly memory: Memory; readonly lines: readonly string[]; advance(milliseconds: number): void } {
  const lines: string[] = [];
  let now = 0;
  const memory = new Memory({ bytes, peers }, pino({ messageKey: 'message' }, { write: (line) => void lines.push(line) }), () => now);
  return { memory, lines, advance: (milliseconds) => void (now += milliseconds) };
}

describe('the memory of a router', () => {
  it('refuses only an owner that has its share, with a reason, a count and a line', async () => {
    const { memory, lines } = memoryOf(16 * MIB);
    using _ = memory;
    const before = await refused();
    Held.add(memory, 'site greedy', 12 * MIB);
    assert.match(memory.refusal('connection', { owner: 'site greedy' }) ?? '', /^12 MiB of this router's memory are in use for you/);
    assert.equal(memory.refusal('connection', { owner: 'site honest' }), undefined);
    assert.equal(memory.refusal('connection', { owner: 'key web' }), undefined);
    assert.equal(await refused(), before + 1);
    assert.match(lines.join(''), /connection refused: site greedy has used up its memory quota/);
  });

  it('looks again before it refuses, since what was held may be gone', () => {
    const { memory, advance } = memoryOf(16 * MIB);
    using _ = memory;
    const held = Held.add(memory, 'key web', 12 * MIB);
    assert.ok(memory.refusal('connection', { owner: 'key web' }) !== undefined);
    held.held = COST.connection;
    advance(1_000);
    assert.equal(memory.refusal('connection', { owner: 'key web' }), undefined);
  });

  it('ends the largest holdings of the largest owner once too much is held, and nothing else', async () => {
    const { memory, lines } = memoryOf(16 * MIB);
    using _ = memory;
    const honest = [Held.add(memory, 'site honest'), Held.add(memory, 'site honest', COST.peer, 'peer')];
    const greedy = Array.from({ length: 10 }, () => Held.add(memory, 'site greedy'));
    const link = Held.add(memory, 'site greedy', COST.peer, 'peer');
    greedy.forEach((each, index) => void (each.held = (index + 1) * 0.4 * MIB));
    countRead(20 * MIB);
    await eased(lines);
    assert.deepEqual(
      [...honest, link, ...greedy.slice(0, 7)].map(({ ended }) => ended),
      Array.from({ length: 10 }),
    );
    assert.match(greedy[9]?.ended ?? '', /mostly by site greedy/);
    assert.match(lines.join(''), /connections ended: .* mostly by site greedy/);
  });

  it('ends thousands in many turns, and none that have ended by themselves', async () => {
    const { memory, lines } = memoryOf(16 * MIB);
    using _ = memory;
    const slow = Array.from({ length: 200 }, () => new Slow(memory, 'key web', 0.1 * MIB));
    for (const each of slow) memory.add(each);
    countRead(20 * MIB);
    await turn();
    await turn();
    const first = slow.filter(({ ended }) => ended !== undefined).length;
    assert.ok(first > 0 && first < 30, `${first} have ended in the first turns`);
    const gone = slow.find(({ ended }) => ended === undefined);
    assert.ok(gone);
    memory.delete(gone);
    await eased(lines);
    assert.equal(slow.filter(({ ended }) => ended !== undefined).length, 60);
    assert.equal(gone.ended, undefined);
  });

  it('ends them, too, if nothing was read and only a refused request triggers a scan', async () => {
    const { memory, lines } = memoryOf(16 * MIB);
    using _ = memory;
    const greedy = Array.from({ length: 10 }, () => Held.add(memory, 'site greedy', MIB));
    for (const each of greedy) each.held = 2 * MIB;
    memory.refusal('connection', { owner: 'site greedy' }, 1_000);
    assert.equal(greedy.filter(({ ended }) => ended !== undefined).length, 0);
    await eased(lines);
    assert.equal(greedy.filter(({ ended }) => ended !== undefined).length, 3);
  });

  it('ends them, too, where one has got an end that takes much', async () => {
    const { memory, lines } = memoryOf(16 * MIB);
    using _ = memory;
    const [one, other] = [Held.add(memory, 'site greedy', MIB), Held.add(memory, 'site honest', MIB)];
    one.held = 17 * MIB;
    memory.lookAt(one);
    await eased(lines);
    assert.deepEqual([one.ended !== undefined, other.ended], [true, undefined]);
  });

  it("ends of an owner's own connections as many as a link needs, and none where that is not enough", () => {
    const { memory, lines } = memoryOf(16 * MIB);
    using _ = memory;
    const honest = Held.add(memory, 'site honest', 2 * MIB);
    const link = Held.add(memory, 'site greedy', COST.peer, 'peer');
    const idle = Held.add(memory, 'site greedy');
    const [small, large] = [Held.add(memory, 'site greedy', 4 * MIB), Held.add(memory, 'site greedy', 7 * MIB)];
    assert.notEqual(memory.refusal('connection', { owner: 'site greedy' }), undefined);
    assert.equal(memory.refusal('peer', { owner: 'site greedy' }, 2), undefined);
    assert.match(large.ended ?? '', /a link needs memory/);
    for (const other of [honest, link, idle, small]) assert.equal(other.ended, undefined);
    assert.match(lines.join(''), /"ended":1,.*connections ended: site greedy has used up its memory quota/);
    Held.add(memory, 'site greedy', 6 * MIB, 'peer');
    Held.add(memory, 'site honest', 2 * MIB);
    assert.match(memory.refusal('peer', { owner: 'site greedy' }, 60) ?? '', /are in use for you/);
    assert.equal(small.ended, undefined);
  });

  it('ends no more than a link takes of an owner that had more than its share before others came', () => {
    const { memory } = memoryOf(16 * MIB);
    using _ = memory;
    const held = Array.from({ length: 20 }, () => Held.add(memory, 'site large', MIB / 2));
    Held.add(memory, 'site other', 4 * MIB);
    assert.notEqual(memory.refusal('connection', { owner: 'site large' }), undefined);
    assert.equal(memory.refusal('peer', { owner: 'site large' }, 2), undefined);
    assert.equal(held.filter(({ ended }) => ended !== undefined).length, 1);
  });

  it('gives a part of its time to that, however often a link is asked for', () => {
    let now = 0;
    const slow = (): number => (now += 100);
    using memory = new Memory({ bytes: 16 * MIB, peers: Infinity }, pino({ level: 'silent' }), slow);
    Held.add(memory, 'site honest', 2 * MIB);
    const held = [7, 4].map((size) => Held.add(memory, 'site greedy', size * MIB));
    assert.equal(memory.refusal('peer', { owner: 'site greedy' }, 2), undefined);
    held.push(Held.add(memory, 'site greedy', 7 * MIB));
    assert.match(memory.refusal('peer', { owner: 'site greedy' }, 2) ?? '', /are in use for you/);
    assert.deepEqual(
      held.map(({ ended }) => ended !== undefined),
      [true, false, false],
    );
    now += 10_000;
    assert.equal(memory.refusal('peer', { owner: 'site greedy' }, 2), undefined);
  });

  it('finds room for the links of one site whatever another asks for that has nothing to end, or ends what it has', () => {
    let now = 0;
    // A scan for what to end takes long.
    using memory = new Memory({ bytes: 16 * MIB, peers: Infinity }, pino({ level: 'silent' }), () => (now += 100));
    const honest = Held.add(memory, 'site honest', 5 * MIB);
    Held.add(memory, 'site full', 6 * MIB, 'peer');
    Held.add(memory, 'site busy', 6 * MIB);
    assert.notEqual(memory.refusal('peer', { owner: 'site full' }, 2), undefined);
    assert.equal(memory.refusal('peer', { owner: 'site busy' }, 2), undefined);
    Held.add(memory, 'site busy', 6 * MIB);
    assert.equal(memory.refusal('peer', { owner: 'site honest' }, 2), undefined);
    assert.match(honest.ended ?? '', /a link needs memory/);
  });

  it('charges time to the owner that spent it, even after all its holdings ended', () => {
    let now = 0;
    using memory = new Memory({ bytes: 16 * MIB, peers: Infinity }, pino({ level: 'silent' }), () => (now += 100));
    Held.add(memory, 'site honest', 5 * MIB);
    let ended = 0;
    for (let round = 0; round < 5; round += 1) {
      const held = Held.add(memory, 'site busy', 12 * MIB);
      memory.refusal('peer', { owner: 'site busy' }, 2);
      if (held.ended !== undefined) ended += 1;
      memory.delete(held);
    }
    assert.equal(ended, 1);
  });

  it('bounds the connections of peers apart from their memory', () => {
    const { memory } = memoryOf(1024 * MIB, 16);
    using _ = memory;
    for (let left = 12; left > 0; left -= 1) Held.add(memory, 'site greedy', COST.peer, 'peer');
    assert.match(memory.tooManyPeers('site greedy', 1) ?? '', /^12 connections are open with you/);
    assert.equal(memory.tooManyPeers('site honest', 1), undefined);
    assert.deepEqual(
      [1, 3].map((count) => memory.missingPeers('site greedy', count)),
      [1, 3],
    );
    assert.equal(memory.missingPeers('site honest', 1), 0);
  });
});

async function refused(): Promise<number> {
  const text = await metrics.metrics();
  return Number(/^earshot_router_memory_refused_total\{what="connection"\} (\d+)/m.exec(text)?.[1] ?? 0);
}
