import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { SessionCore } from '../../../src/http2/core.ts';
import type { Session, Stream } from '../../../src/http2/contract.ts';
import { ErrorCode } from '../../../src/http2/errors.ts';
import { createSession } from '../../../src/http2/session.ts';
import { connectStream, SessionRecorder, type Recorder } from './support/recorder.ts';
import { SlowLine } from './support/slow-line.ts';

/** So little that a few stopped readers make it short. */
const LIMITS = { unconsumed: 320 << 10, streamWindowMost: 256 << 10, growth: 256 << 10 };

/** One end of a stream, whose reader consumes data only on request. */
class StreamEnd {
  readonly stream: Stream;
  readonly recorder: Recorder;
  ended = false;
  #taken = 0;
  #reset = false;

  constructor(stream: Stream, recorder: Recorder) {
    this.stream = stream;
    this.recorder = recorder;
    recorder.holding = true;
  }

  get untaken(): number {
    return this.#reset ? 0 : this.recorder.received - this.#taken;
  }

  write(bytes: number): void {
    if (!this.ended) this.stream.write(Buffer.alloc(bytes));
  }

  take(bytes = this.untaken): void {
    if (this.#reset) return;
    this.#taken += bytes;
    this.stream.consumed(bytes);
  }

  end(): void {
    this.ended = true;
    this.stream.end();
  }

  /** From now on it takes nothing. */
  reset(): void {
    this.ended = true;
    this.#reset = true;
    this.stream.reset(ErrorCode.CANCEL);
  }
}

/** Two sessions on a line, and the streams between them. */
class Talk {
  readonly line = new SlowLine();
  readonly streams: { readonly near: StreamEnd; far: StreamEnd | undefined }[] = [];
  readonly sessions: { readonly near: Session & SessionCore; readonly far: Session & SessionCore };
  now = 0;

  constructor() {
    const far = new SessionRecorder(({ stream, recorder, head }) => {
      stream.respond({ status: 200, fields: {} });
      const talked = this.streams[Number(head.authority)];
      if (talked !== undefined) talked.far = new StreamEnd(stream, recorder);
    });
    const options = { limits: LIMITS, now: () => this.now };
    // Only parts of a session see its counters; they know it as this.
    this.sessions = {
      near: createSession(this.line.near, { ...options, role: 'client', events: new SessionRecorder() }) as Session & SessionCore,
      far: createSession(this.line.far, { ...options, role: 'server', events: far }) as Session & SessionCore,
    };
  }

  open(): StreamEnd {
    const { stream, recorder } = connectStream(this.sessions.near, String(this.streams.length));
    const near = new StreamEnd(stream, recorder);
    this.streams.push({ near, far: undefined });
    return near;
  }

  /** The ends that there are, of all streams. */
  get ends(): readonly StreamEnd[] {
    return this.streams.flatMap(({ near, far }) => (far === undefined ? [near] : [near, far]));
  }

  close(): void {
    this.sessions.near.destroy();
    this.sessions.far.destroy();
  }
}

/** Opens streams that consume nothing, enough to hold more than half of what may be held. */
function stop(talk: Talk): void {
  for (let stopped = 0; stopped < 4; stopped += 1) talk.open().write(65_535);
}

const NOTHING_HELD = { unconsumed: 0, beyond: 0, grown: 0 };

/** A stream, and one of its directions: mostly that from the client. */
const way = fc.record({ stream: fc.nat({ max: 6 }), up: fc.nat({ max: 3 }).map((nth) => nth > 0) });
const step = fc.oneof(
  { weight: 1, arbitrary: fc.record({ do: fc.constant('open' as const) }) },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('write' as const), way, bytes: fc.constantFrom(1, 4_000, 20_000, 65_535, 120_000) }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('take' as const), way, share: fc.constantFrom(1, 1, 0.9, 0.5, 0.1) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('end' as const, 'reset' as const), way }) },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('deliver' as const), up: fc.boolean(), most: fc.constantFrom(1, 9, 5_000, 150_000) }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('settle' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('wait' as const), milliseconds: fc.constantFrom(1, 50, 3_000) }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

async function act(talk: Talk, what: Step): Promise<void> {
  if (what.do === 'open') talk.open();
  else if (what.do === 'wait') talk.now += what.milliseconds;
  else if (what.do === 'settle') {
    talk.now += 20;
    await talk.line.settle();
  } else if (what.do === 'deliver') {
    await new Promise(setImmediate);
    talk.line.deliver(what.up ? 'far' : 'near', what.most);
  } else {
    const { stream, up } = what.way;
    const { near, far } = talk.streams[stream % talk.streams.length] ?? {};
    const [sender, receiver] = up ? [near, far] : [far, near];
    if (what.do === 'write') sender?.write(what.bytes);
    else if (what.do === 'take') receiver?.take(Math.ceil(receiver.untaken * what.share));
    else if (what.do === 'end') sender?.end();
    else sender?.reset();
  }
}

describe('flow control', () => {
  it('lets a stream go on that is older than the readers who stopped', async () => {
    const talk = new Talk();
    const old = talk.open();
    old.write(20_000);
    await talk.line.settle();
    const server = talk.streams[0]?.far;
    assert.ok(server !== undefined);
    server.take(20_000);
    stop(talk);
    await talk.line.settle();
    old.write(100);
    await talk.line.settle();
    assert.equal(server.untaken, 100);
    talk.close();
  });

  for (const untaken of ['taken', 'given up'] as const) {
    it(`has its whole budget back when what ended streams brought is ${untaken}`, async () => {
      const talk = new Talk();
      stop(talk);
      await talk.line.settle();
      for (const each of talk.ends) each.end();
      await talk.line.settle();
      assert.equal(talk.sessions.far.openStreams, 0);
      assert.equal(talk.sessions.far.windows.held.unconsumed, 4 * 65_535);
      for (const each of talk.ends) {
        if (untaken === 'taken') each.take();
        else each.reset();
      }
      await talk.line.settle();
      assert.deepEqual(talk.sessions.far.windows.held, NOTHING_HELD);
      assert.equal(talk.sessions.far.windows.initial, 65_535, 'new streams begin as before');
      talk.close();
    });
  }

  it('leaves a window to every stream that consumed all, and holds nothing at the end, for any order of events', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 80, size: 'max' }),
        fc.array(fc.constantFrom(...FAREWELLS), { minLength: 8 }),
        async (steps, farewells) => {
          const talk = new Talk();
          try {
            for (let few = 0; few < 5; few += 1) talk.open();
            // The first round trip that is measured.
            talk.now += 100;
            await talk.line.settle();
            for (const each of steps) await act(talk, each);
            await talk.line.settle();
            await part(
              talk,
              talk.ends.map((each, at) => ({ each, farewell: farewells[at % farewells.length] })),
            );
          } finally {
            talk.close();
          }
        },
      ),
      { numRuns: 60 },
    );
  });
});

/** More than eighty times as much as is written at most at once, by windows of the usual size. */
const MOST_ROUNDS = 200;
const FAREWELLS = ['takes all', 'takes all', 'resets', 'takes late', 'gives up at last'] as const;

type Farewell = (typeof FAREWELLS)[number];

/** Ends all streams, each end in its own way, and looks at what is left. */
async function part(talk: Talk, ends: readonly { readonly each: StreamEnd; readonly farewell: Farewell | undefined }[]): Promise<void> {
  const those = (meant: Farewell): StreamEnd[] => ends.filter(({ farewell }) => farewell === meant).map(({ each }) => each);
  for (const each of those('takes all')) each.take();
  await talk.line.settle();
  windowsAreThere(talk);
  for (const each of those('resets')) each.reset();
  for (const { each } of ends) each.end();
  await talk.line.settle();
  for (const each of those('gives up at last')) each.reset();
  // A window each time, of all that was written.
  for (let round = 0; round < 10 || (round < MOST_ROUNDS && ends.some(({ each }) => each.untaken > 0)); round += 1) {
    for (const { each } of ends) each.take();
    await talk.line.settle();
  }
  await talk.line.settle();
  for (const { openStreams, windows } of [talk.sessions.near, talk.sessions.far])
    assert.deepEqual({ openStreams, ...windows.held, initial: windows.initial }, { openStreams: 0, ...NOTHING_HELD, initial: 65_535 });
  for (const { each } of ends) for (const { code, reason } of each.recorder.resets) assert.equal(code, ErrorCode.CANCEL, reason);
}

/** Of all streams whose reader has taken everything; and both ends count the same. To be asked when nothing is under way. */
function windowsAreThere({ sessions }: Talk): void {
  for (const [one, other] of [
    [sessions.near, sessions.far],
    [sessions.far, sessions.near],
  ] as const) {
    assert.equal(one.state, 'open');
    for (const { id, unconsumed, remoteEnded, window } of one.streams.values()) {
      if (unconsumed === 0 && !remoteEnded) assert.ok(window > 0, `stream ${id} has a window of ${window}`);
      assert.equal(other.streams.get(id)?.sendWindow, window, `of stream ${id}`);
    }
  }
}
