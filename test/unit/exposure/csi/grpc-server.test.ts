import assert from 'node:assert/strict';
import { connect, type ClientHttp2Session } from 'node:http2';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { createChannel, createClient } from 'nice-grpc';
import { Metadata } from 'nice-grpc-common';
import { IdentityDefinition } from '../../../../src/exposure/csi/generated/csi.ts';
import { GrpcServer, type CallContext } from '../../../../src/exposure/csi/grpc-server.ts';
import { deadlineOf, encodeMessage, frame, unframe } from '../../../../src/exposure/csi/grpc-wire.ts';
import { Status } from '../../../../src/exposure/csi/grpc-status.ts';
import { rejects, until } from './node-fixture.ts';
import { temporaryFolder } from './volume-folder.ts';

const GET_PLUGIN_INFO = '/csi.v1.Identity/GetPluginInfo';

interface Served extends AsyncDisposable {
  readonly socket: string;
  readonly server: GrpcServer;
  readonly contexts: CallContext[];
}

/** A service that greets, never answers a probe, and refuses the third method. */
async function serve(): Promise<Served> {
  const folder = temporaryFolder();
  const socket = join(folder.path, 's');
  const contexts: CallContext[] = [];
  const server = new GrpcServer(async (call, next) => {
    contexts.push(call);
    return next().catch((error: unknown) => ({ status: Status.ABORTED, message: String(error) }));
  });
  server.add(IdentityDefinition, {
    getPluginInfo: async () => ({ name: 'näme', vendorVersion: 'x'.repeat(20_000) }),
    getPluginCapabilities: async () => {
      throw new RangeError('100 % “no”\nline');
    },
    probe: () => new Promise(() => undefined),
  });
  await server.listen(socket);
  return {
    socket,
    server,
    contexts,
    async [Symbol.asyncDispose]() {
      server.cut();
      await server.close();
      folder[Symbol.dispose]();
    },
  };
}

interface Answer {
  readonly headers: Readonly<Record<string, unknown>>;
  readonly trailers: Readonly<Record<string, unknown>>;
  readonly body: Buffer;
}

/** Sends bytes as they are. */
async function send(socket: string, body: Buffer, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
  const session = open(socket);
  try {
    const all = { ':method': 'POST', ':path': GET_PLUGIN_INFO, 'content-type': 'application/grpc', te: 'trailers', ...headers };
    const stream = session.request(all, { endStream: false });
    let answered = {};
    let trailed = {};
    stream.on('response', (given) => (answered = given)).on('trailers', (given) => (trailed = given));
    stream.end(body);
    const chunks: Buffer[] = [];
    for await (const chunk of stream as AsyncIterable<Buffer>) chunks.push(chunk); // No encoding is set.
    return { headers: answered, trailers: trailed, body: Buffer.concat(chunks) };
  } finally {
    session.close();
  }
}

function open(socket: string): ClientHttp2Session {
  return connect('http://localhost', { createConnection: () => createConnection(socket) });
}

describe('the gRPC server', () => {
  it('answers one message, and the status behind it', async () => {
    await using served = await serve();
    const { headers, trailers, body } = await send(served.socket, frame(new Uint8Array()), { 'content-type': 'application/grpc+proto' });
    assert.equal(headers[':status'], 200);
    assert.equal(headers['content-type'], 'application/grpc+proto');
    assert.equal(trailers['grpc-status'], '0');
    assert.equal(body.readUInt32BE(1), body.length - 5);
    assert.ok(body.length > 20_000);
  });

  it('sends the reason of a refusal, in any script, with the headers', async () => {
    await using served = await serve();
    const { headers } = await send(served.socket, frame(new Uint8Array()), { ':path': '/csi.v1.Identity/GetPluginCapabilities' });
    assert.equal(headers['grpc-status'], '10');
    const channel = createChannel(`unix://${served.socket}`, undefined, { 'grpc.default_authority': 'localhost' });
    await rejects(createClient(IdentityDefinition, channel).getPluginCapabilities({}), Status.ABORTED, 'RangeError: 100 % “no”\nline');
    channel.close();
  });

  const wrong: readonly (readonly [string, Buffer, Readonly<Record<string, string>>, Status])[] = [
    ['a method that is not there', frame(new Uint8Array()), { ':path': '/csi.v1.Identity/None' }, Status.UNIMPLEMENTED],
    ['an unknown path', frame(new Uint8Array()), { ':path': '/__proto__' }, Status.UNIMPLEMENTED],
    ['nothing', Buffer.alloc(0), {}, Status.INTERNAL],
    ['half a prefix', Buffer.alloc(4), {}, Status.INTERNAL],
    ['a message that is shorter than it says', Buffer.from([0, 0, 0, 0, 2, 1]), {}, Status.INTERNAL],
    ['two messages', Buffer.concat([frame(new Uint8Array()), frame(new Uint8Array())]), {}, Status.INTERNAL],
    ['a compressed message', Buffer.from([1, 0, 0, 0, 0]), {}, Status.UNIMPLEMENTED],
    ['garbage in a message', frame(Uint8Array.from([0xff, 0xff, 0xff])), {}, Status.INTERNAL],
    ['more than a request may hold', frame(new Uint8Array(2 << 20)), {}, Status.RESOURCE_EXHAUSTED],
  ];
  for (const [what, body, headers, status] of wrong) {
    it(`refuses ${what}, and goes on`, async () => {
      await using served = await serve();
      assert.equal((await send(served.socket, body, headers)).headers['grpc-status'], String(status));
      assert.equal((await send(served.socket, frame(new Uint8Array()))).trailers['grpc-status'], '0');
    });
  }

  for (const headers of [
    { ':method': 'GET' },
    { ':method': 'PUT' },
    { 'content-type': 'application/json' },
    { 'content-type': 'application/grpcx' },
  ]) {
    it(`is not there for ${JSON.stringify(headers)}`, async () => {
      await using served = await serve();
      assert.equal((await send(served.socket, Buffer.alloc(0), headers)).headers[':status'], 415);
    });
  }

  it('ends a call at its deadline, for the caller and for the handler', async () => {
    await using served = await serve();
    const { headers } = await send(served.socket, frame(new Uint8Array()), { ':path': '/csi.v1.Identity/Probe', 'grpc-timeout': '500m' });
    assert.equal(headers['grpc-status'], String(Status.DEADLINE_EXCEEDED));
    await until(() => served.contexts[0]?.signal.aborted === true);
  });

  it('notifies the handler when the caller disconnects', async () => {
    await using served = await serve();
    const session = open(served.socket);
    session.on('error', () => undefined);
    session
      .request({ ':method': 'POST', ':path': '/csi.v1.Identity/Probe', 'content-type': 'application/grpc' })
      .on('error', () => undefined)
      .end(frame(new Uint8Array()));
    await until(() => served.contexts.length === 1);
    assert.equal(served.contexts[0]?.signal.aborted, false);
    session.destroy();
    await until(() => served.contexts[0]?.signal.aborted === true);
  });

  it('survives what is no HTTP/2', async () => {
    await using served = await serve();
    const raw = createConnection(served.socket);
    raw.on('error', () => undefined);
    raw.write('GET / HTTP/1.1\r\n\r\n'.repeat(10));
    await new Promise((resolve) => raw.once('close', resolve).resume());
    assert.equal((await send(served.socket, frame(new Uint8Array()))).trailers['grpc-status'], '0');
  });

  it('serves many calls at once on one connection', async () => {
    await using served = await serve();
    const channel = createChannel(`unix://${served.socket}`, undefined, { 'grpc.default_authority': 'localhost' });
    const client = createClient(IdentityDefinition, channel);
    const answers = await Promise.all(Array.from({ length: 100 }, () => client.getPluginInfo({}, { metadata: Metadata({ x: 'y' }) })));
    assert.ok(answers.every(({ name, vendorVersion }) => name === 'näme' && vendorVersion.length === 20_000));
    channel.close();
  });

  it('lets running calls end before it closes', async () => {
    await using served = await serve();
    const calls = Array.from({ length: 5 }, () => send(served.socket, frame(new Uint8Array())));
    await until(() => served.contexts.length === 5);
    await served.server.close();
    for (const { trailers } of await Promise.all(calls)) assert.equal(trailers['grpc-status'], '0');
  });
});

describe('the wire of gRPC', () => {
  for (const [timeout, milliseconds] of [
    ['1H', 3_600_000],
    ['2M', 120_000],
    ['30S', 30_000],
    ['250m', 250],
    ['1500u', 2],
    ['1n', 1],
    ['0S', 0],
    ['99999999H', 2 ** 31 - 1],
  ] as const) {
    it(`reads the timeout ${timeout}`, () => assert.equal(deadlineOf(timeout, 1_000), 1_000 + milliseconds));
  }
  for (const timeout of [undefined, '', '5', 'S', '-1S', '1x', '123456789S', ['1S', '2S']]) {
    it(`takes ${JSON.stringify(timeout)} for no timeout`, () => assert.equal(deadlineOf(timeout, 0), Infinity));
  }

  it('writes a message as the one header value that every client can read', () => {
    assert.equal(encodeMessage('all ~ printable !'), 'all ~ printable !');
    assert.equal(encodeMessage('100 %\n'), '100 %25%0A');
    assert.equal(encodeMessage('é€'), '%C3%A9%E2%82%AC');
    assert.equal(decodeURIComponent(encodeMessage('x\u0000“y”')), 'x\u0000“y”');
  });

  it('reads back what it frames', () => {
    const message = unframe(frame(Uint8Array.from([1, 2, 3])));
    assert.ok('bytes' in message);
    assert.deepEqual([...message.bytes], [1, 2, 3]);
  });
});
