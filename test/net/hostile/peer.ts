/**
 * A peer that does what none should: `node peer.ts ATTACK HOST PORT DIRECTORY PATIENCE`, with a link's tls.crt, tls.key and ca.crt in the
 * directory. Prints in one JSON line how it ended: `goaway CODE: words`, `closed`, or `let be` if it was tolerated until it left by itself, after
 * PATIENCE milliseconds.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect as connectTcp, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { FrameReader } from '../../../src/http2/frame-reader.ts';
import { FrameType, PREFACE } from '../../../src/http2/frames.ts';
import { frame, headers } from '../../fuzz/frames.ts';

const [attack = '', host = '', port = '0', directory = '', patience = '0'] = process.argv.slice(2);
const read = (name: string): string => readFileSync(`${directory}/${name}`, 'utf8');

/** A tolerated peer leaves after so many milliseconds. */
const PATIENCE = Number(patience);

type Shown = 'none' | 'link' | 'foreign' | 'nameless';

async function dial(shown: Shown = 'link', protocol = 'h2'): Promise<TLSSocket> {
  const own = {
    none: {},
    link: { cert: read('tls.crt'), key: read('tls.key') },
    foreign: { cert: read('foreign.crt'), key: read('foreign.key') },
    nameless: { cert: read('nameless.crt'), key: read('nameless.key') },
  }[shown];
  const socket = connectTls({ host, port: Number(port), ca: read('ca.crt'), ...own, ALPNProtocols: [protocol], rejectUnauthorized: false });
  socket.on('error', () => {});
  // One that is refused ends with an error.
  await Promise.race([once(socket, 'secureConnect'), once(socket, 'close')]).catch(() => {});
  return socket;
}

/** Resolves once the connection is over. */
async function endOf(socket: Socket): Promise<string> {
  let said = 'closed';
  const reader = new FrameReader(
    {
      onDataStart: () => {},
      onData: () => {},
      onDataEnd: () => {},
      onFrame: (type, _flags, _id, payload) => {
        if (type === FrameType.GOAWAY) said = `goaway ${payload.readUInt32BE(4)}: ${payload.toString('latin1', 8)}`;
      },
    },
    1 << 20,
  );
  socket.on('error', () => {});
  socket.on('data', (chunk: Buffer) => reader.push(chunk));
  // The last message can still be read.
  socket.on('end', () => socket.destroy());
  const closed = once(socket, 'close').then(
    () => said,
    () => said,
  );
  const left = setTimeout(PATIENCE).then(() => 'let be');
  const ended = await Promise.race([socket.destroyed ? Promise.resolve(said) : closed, left]);
  socket.destroy();
  return ended;
}

const hello = (...settings: readonly (readonly [number, number])[]): Buffer => {
  const payload = Buffer.alloc(settings.length * 6);
  settings.forEach(([id, value], at) => {
    payload.writeUInt16BE(id, at * 6);
    payload.writeUInt32BE(value, at * 6 + 2);
  });
  return Buffer.concat([PREFACE, frame(FrameType.SETTINGS, 0, 0, payload)]);
};
const open = (id: number, key: string): Buffer =>
  headers(id, [
    [':method', 'CONNECT'],
    [':authority', key],
  ]);
const number = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};

/** Greets, and sends what `next` gives, as fast as it is taken, until the connection ends or there is nothing more. @returns how it ended */
async function flood(
  next: (round: number) => Buffer | undefined,
  options: { readonly reads?: boolean; readonly greeting?: Buffer } = {},
): Promise<string> {
  const socket = await dial();
  const ended = endOf(socket);
  if (options.reads === false) socket.pause();
  socket.write(options.greeting ?? hello());
  for (let round = 0; !socket.destroyed; round += 1) {
    const bytes = next(round);
    if (bytes === undefined) break;
    // Reset meanwhile, it fails in the place of draining.
    if (!socket.write(bytes)) await Promise.race([once(socket, 'drain').catch(() => {}), ended]);
    // Lets the answers in.
    if (round % 8 === 0) await setTimeout(0);
  }
  return ended;
}

/** So many frames at once: one system call. */
const many = (count: number, one: (index: number) => Buffer): Buffer =>
  Buffer.concat(Array.from({ length: count }, (_, index) => one(index)));

const attacks: Readonly<Record<string, () => Promise<string>>> = {
  'garbage-for-tls': async () => {
    const socket = connectTcp(Number(port), host);
    const ended = endOf(socket);
    socket.write(randomBytes(5_000));
    return ended;
  },
  'garbage-for-http2': () => flood((round) => (round === 0 ? randomBytes(5_000) : undefined), { greeting: Buffer.alloc(0) }),
  'truncated-frame': () => flood((round) => (round === 0 ? frame(FrameType.HEADERS, 4, 1, Buffer.alloc(3), 200) : undefined)),
  'oversized-frame': () => flood((round) => (round === 0 ? frame(FrameType.HEADERS, 4, 1, Buffer.alloc(100), 0xff_ffff) : undefined)),
  'continuation-flood': () =>
    flood((round) =>
      round === 0 ? frame(FrameType.HEADERS, 0, 1, Buffer.alloc(100)) : frame(FrameType.CONTINUATION, 0, 1, Buffer.alloc(1_000)),
    ),
  'header-flood': () =>
    flood((round) =>
      many(20, (index) =>
        headers(
          1 + 2 * (round * 20 + index),
          Array.from({ length: 500 }, (_, at): readonly [string, string] => [`x-${at}`, 'y'.repeat(20)]),
        ),
      ),
    ),
  'rapid-resets': () =>
    flood((round) =>
      many(500, (index) => {
        const id = 1 + 2 * (round * 500 + index);
        return Buffer.concat([open(id, 'web'), frame(FrameType.RST_STREAM, 0, id, number(8))]);
      }),
    ),
  'made-resets': () =>
    flood((round) =>
      many(500, (index) => {
        const id = 1 + 2 * (round * 500 + index);
        return Buffer.concat([open(id, 'web'), frame(FrameType.WINDOW_UPDATE, 0, id, number(0))]);
      }),
    ),
  pings: () => flood(() => many(1_000, () => frame(FrameType.PING, 0, 0, Buffer.alloc(8)))),
  settings: () => flood(() => many(1_000, () => frame(FrameType.SETTINGS, 0, 0))),
  'settings-of-windows': () =>
    flood((round) =>
      round === 0
        ? many(500, (index) => open(1 + 2 * index, 'web'))
        : many(20, (index) =>
            frame(
              FrameType.SETTINGS,
              0,
              0,
              Buffer.concat(
                Array.from({ length: 2_000 }, (_, at) => Buffer.concat([Buffer.of(0, 4), number(60_000 + ((at + index) % 7))])),
              ),
            ),
          ),
    ),
  'window-overflow': () => flood((round) => (round < 2 ? frame(FrameType.WINDOW_UPDATE, 0, 0, number(0x7fff_ffff)) : undefined)),
  'never-reads-answers': () =>
    flood(
      (round) =>
        many(200, (index) =>
          headers(
            1 + 2 * (round * 200 + index),
            [
              [':method', 'CONNECT'],
              [':authority', 'nobody'],
            ],
            true,
          ),
        ),
      { reads: false },
    ),
  'never-reads-data': () =>
    flood(
      (round) => {
        if (round === 0) return frame(FrameType.WINDOW_UPDATE, 0, 0, number(0x7000_0000));
        return round <= 10 ? many(50, (index) => open(1 + 2 * ((round - 1) * 50 + index), 'endless')) : undefined;
      },
      { reads: false, greeting: hello([4, 0x7fff_ffff]) },
    ),
  'zero-windows': () =>
    flood((round) => (round < 10 ? many(50, (index) => open(1 + 2 * (round * 50 + index), 'endless')) : undefined), {
      greeting: hello([4, 0]),
    }),
  'streams-that-say-nothing': () =>
    flood((round) => (round < 10 ? many(200, (index) => open(1 + 2 * (round * 200 + index), 'web')) : undefined)),
  'byte-by-byte': () =>
    flood((round) =>
      round === 0
        ? many(20, (index) => open(1 + 2 * index, 'stuck'))
        : round > 8
          ? undefined
          : many(20_000, (index) => frame(FrameType.DATA, 0, 1 + 2 * (index % 20), Buffer.of(1))),
    ),
  'slow-handshakes': async () => {
    const sockets = Array.from({ length: 300 }, () => connectTcp(Number(port), host));
    let closed = 0;
    for (const socket of sockets) {
      socket.on('error', () => {});
      socket.on('close', () => {
        closed += 1;
      });
      socket.resume();
      // The head of a TLS record that never comes.
      socket.write(Buffer.from('1603010200010001fc0303', 'hex'));
    }
    const until = performance.now() + PATIENCE;
    while (closed < sockets.length && performance.now() < until) await setTimeout(20);
    for (const socket of sockets) socket.destroy();
    return `closed ${closed} of ${sockets.length}`;
  },
  'no-certificate': async () => endOf(await dial('none')),
  'foreign-certificate': async () => endOf(await dial('foreign')),
  'nameless-certificate': async () => endOf(await dial('nameless')),
  'wrong-protocol': async () => endOf(await dial('link', 'http/1.1')),
};

const chosen = attacks[attack];
if (chosen === undefined) throw new Error(`there is no attack ${attack}: take one of ${Object.keys(attacks).join(', ')}`);
console.log(JSON.stringify({ attack, ended: await chosen() }));
process.exit(0);
