import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { test } from 'node:test';

import type { ResponseHead, SessionEvents, StreamHandler, StreamReset } from '../../../src/http2/contract.ts';
import { ErrorCode } from '../../../src/http2/errors.ts';
import { createSession } from '../../../src/http2/session.ts';
import { eventually } from '../../harness/wait.ts';
import { loopback } from './support/loopback.ts';
import { connectStream, Echo, Recorder, SessionRecorder } from './support/recorder.ts';

const fault = new Error('a fault of the handler');
const HANDLERS = ['onResponse', 'onData', 'onEnd', 'onDrain', 'onReset'] as const satisfies readonly (keyof StreamHandler)[];

/** Does what the recorder does, and then throws at one of its calls. */
class Throwing extends Recorder {
  readonly #at: keyof StreamHandler;

  constructor(at: keyof StreamHandler) {
    super();
    this.#at = at;
  }

  override onResponse(head: ResponseHead): void {
    super.onResponse(head);
    this.#after('onResponse');
  }

  override onData(chunk: Buffer): void {
    super.onData(chunk);
    this.#after('onData');
  }

  override onEnd(): void {
    super.onEnd();
    this.#after('onEnd');
  }

  override onDrain(): void {
    super.onDrain();
    this.#after('onDrain');
  }

  override onReset(reason: StreamReset): void {
    super.onReset(reason);
    this.#after('onReset');
  }

  #after(call: keyof StreamHandler): void {
    if (call === this.#at) throw fault;
  }
}

/** Two sessions; the far one echoes by default. */
async function pair(accept: ConstructorParameters<typeof SessionRecorder>[0] = ({ stream }) => new Echo(stream)) {
  const wire = await loopback();
  const [server, client] = [new SessionRecorder(accept), new SessionRecorder()];
  const serverSession = createSession(wire.far, { role: 'server', events: server });
  const clientSession = createSession(wire.near, { role: 'client', events: client });
  return { server, client, serverSession, clientSession, [Symbol.asyncDispose]: () => wire[Symbol.asyncDispose]() };
}

type Pair = Awaited<ReturnType<typeof pair>>;

/** A stream that was open before, and carries something now. */
async function others(ends: Pair): Promise<() => Promise<void>> {
  const { stream, recorder } = connectStream(ends.clientSession, 'other');
  await eventually('the other stream', () => recorder.response);
  return async () => {
    stream.write(Buffer.from('still here'));
    await eventually('the echo', () => recorder.text === 'still here');
    assert.deepEqual([ends.clientSession.state, ends.serverSession.state], ['open', 'open']);
  };
}

for (const at of HANDLERS) {
  test(`an error thrown in ${at} is reported, and resets only its own stream`, async () => {
    await using ends = await pair();
    const goesOn = await others(ends);
    const { stream, recorder } = connectStream(ends.clientSession, 'victim', new Throwing(at));
    if (at === 'onReset') {
      await eventually('the request', () => ends.server.accepted.length === 2);
      ends.server.accepted[1]?.stream.reset(ErrorCode.CANCEL);
    } else {
      // Enough to be queued, so that it drains; what comes back is data, and then its end.
      await eventually('the answer', () => at === 'onResponse' || recorder.response);
      stream.write(Buffer.alloc(at === 'onDrain' ? 1_000_000 : 10));
      stream.end();
    }
    await eventually('the error to be reported', () => ends.client.unexpected.length > 0);
    assert.deepEqual(ends.client.unexpected, [{ part: 'stream', error: fault }]);
    assert.deepEqual(
      recorder.resets.map(({ code }) => code),
      [at === 'onReset' ? ErrorCode.CANCEL : ErrorCode.INTERNAL_ERROR],
    );
    await eventually(
      'the stream to be forgotten at both ends',
      () => ends.clientSession.openStreams === 1 && ends.serverSession.openStreams === 1,
    );
    await goesOn();
  });
}

test('a request whose taker throws is reset, and the others go on', async () => {
  await using ends = await pair(({ head, stream }) => {
    if (head.authority === 'victim') throw fault;
    return new Echo(stream);
  });
  const goesOn = await others(ends);
  const { recorder } = connectStream(ends.clientSession, 'victim');
  await eventually('the reset', () => recorder.resets.length > 0);
  assert.deepEqual(
    recorder.resets.map(({ code }) => code),
    [ErrorCode.INTERNAL_ERROR],
  );
  assert.deepEqual(ends.server.unexpected, [{ part: 'stream', error: fault }]);
  await goesOn();
});

for (const at of ['onReady', 'onGoaway', 'onClose'] as const satisfies readonly (keyof SessionEvents)[]) {
  test(`an error of a session's user in ${at} ends that session, and nothing else`, async () => {
    await using wire = await loopback();
    const [server, client] = [new SessionRecorder(), new SessionRecorder()];
    client[at] = () => {
      throw fault;
    };
    const serverSession = createSession(wire.far, { role: 'server', events: server });
    const clientSession = createSession(wire.near, { role: 'client', events: client });
    if (at !== 'onReady') serverSession.drain();
    await eventually('both ends to be closed', () => clientSession.state === 'closed' && serverSession.state === 'closed');
    assert.deepEqual(client.unexpected, [{ part: 'session', error: fault }]);
    if (at === 'onReady') assert.match(server.goaways[0]?.reason ?? '', /INTERNAL_ERROR \(an unexpected error at this end\)/);
  });
}
