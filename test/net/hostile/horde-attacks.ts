import { connect as connectTcp, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { connect as connectTls, createSecureContext, type SecureContext, type TLSSocket } from 'node:tls';
import { generateSiteKey } from '../../../src/identity/site-key.ts';
import { siteIdOf } from '../../../src/identity/site-id.ts';
import { FrameType, PREFACE } from '../../../src/http2/frames.ts';
import { frameMessage } from '../../../src/router/link/session/framing.ts';
import { writeHello } from '../../../src/router/link/session/hello.ts';
import { EXPORTER_BYTES, EXPORTER_LABEL, RENEW_PATH, ROUTING_PATH } from '../../../src/router/wire.ts';
import { createKey, createRequest } from '../../../src/x509/request.ts';
import { beginning, data, frame, FrameSource, headers } from '../../fuzz/frames.ts';
import { LINK_REQUESTS, routingBytes } from '../../fuzz/link-words.ts';
import { mutate } from '../../fuzz/mutate.ts';
import { maps } from './maps.ts';
import type { Fight } from './fight.ts';

const SIDE_BY_SIDE = 16;
/** Milliseconds after which an attacker gives a connection up. */
const GIVE_UP = 3_000;

/** Several at once, each until there is nothing more to do. */
async function workers(fight: Fight, one: () => Promise<void>, count = SIDE_BY_SIDE): Promise<void> {
  const work = async (): Promise<void> => {
    while (fight.more()) await one();
  };
  await Promise.all(Array.from({ length: count }, work));
}

function dial({ host, port, keys }: Fight, shown?: SecureContext, protocol = 'h2'): TLSSocket {
  const own = shown === undefined ? { cert: keys.cert, key: keys.key } : { secureContext: shown };
  const socket = connectTls({ host, port, ...own, ALPNProtocols: [protocol], rejectUnauthorized: false });
  socket.on('error', () => {});
  return socket;
}

/** Resolves when the other end has said something, or ended it, or nothing came for a while. */
async function outcome(socket: Socket): Promise<string> {
  const heard = Promise.withResolvers<string>();
  socket.once('data', (chunk: Buffer) => heard.resolve(chunk.length >= 3 && chunk.readUIntBE(0, 3) > 0 ? 'greeted' : 'refused'));
  socket.once('close', () => heard.resolve('closed'));
  const timer = globalThis.setTimeout(() => heard.resolve('let be'), GIVE_UP);
  try {
    return await heard.promise;
  } finally {
    clearTimeout(timer);
    socket.destroy();
  }
}

/** Resolves with the first of these events, at once where it is over already, or after so many milliseconds. */
function first(socket: Socket, events: readonly string[], milliseconds: number): Promise<void> {
  if (socket.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      for (const event of [...events, 'close']) socket.removeListener(event, done);
      resolve();
    };
    const timer = globalThis.setTimeout(done, milliseconds);
    for (const event of [...events, 'close']) socket.once(event, done);
  });
}

async function over(socket: Socket): Promise<void> {
  await first(socket, [], GIVE_UP);
  socket.destroy();
}

const greeting = Buffer.concat([PREFACE, frame(FrameType.SETTINGS, 0, 0)]);
const post = (id: number, path: string, ...more: readonly (readonly [string, string])[]): Buffer =>
  headers(id, [[':method', 'POST'], [':scheme', 'https'], [':path', path], [':authority', 'earshot'], ...more]);

async function greeted(fight: Fight): Promise<TLSSocket | undefined> {
  const socket = dial(fight);
  await first(socket, ['secureConnect'], GIVE_UP);
  if (socket.destroyed) return undefined;
  socket.resume();
  socket.write(greeting);
  return socket;
}

/** A valid hello of an unknown site, and then anything. */
async function strangeSite(fight: Fight): Promise<void> {
  const socket = await greeted(fight);
  if (socket === undefined) return fight.tell('closed');
  const { random } = fight;
  const { key } = generateSiteKey();
  const site = {
    id: siteIdOf(key.publicKey),
    name: `horde-${random.below(1_000)}`,
    namespace: 'x',
    platform: 'linux',
    version: '1',
  } as const;
  const exporter = socket.exportKeyingMaterial(EXPORTER_BYTES, EXPORTER_LABEL, Buffer.alloc(0));
  const link = { id: random.bytes(8).toString('hex'), cost: 1 };
  const hello = writeHello({ versions: [1], router: 'main', site, edge: random.below(2) === 0, link }, key, { exporter, role: 'client' });
  const said = random.below(4) === 0 ? mutate(random, hello) : hello;
  socket.write(Buffer.concat([post(1, ROUTING_PATH), data(1, frameMessage(said))]));
  const closed = over(socket);
  for (let left = random.below(40); left > 0 && !socket.destroyed; left -= 1) {
    socket.write(routingBytes(random));
    await setTimeout(1);
  }
  if (random.below(2) === 0) socket.destroy();
  await closed;
  fight.tell('over');
}

/** A thousand requests for a new certificate at once. */
async function renewals(fight: Fight): Promise<void> {
  const socket = await greeted(fight);
  if (socket === undefined) return fight.tell('closed');
  const request = Buffer.from(createRequest(createKey(), 'horde'));
  const closed = over(socket);
  for (let at = 0; at < 1_000 && !socket.destroyed; at += 1) {
    const id = 1 + 2 * at;
    socket.write(
      Buffer.concat([post(id, RENEW_PATH), data(id, fight.random.below(3) === 0 ? mutate(fight.random, request) : request, true)]),
    );
    if (at % 50 === 0) await setTimeout(1);
  }
  await closed;
  fight.tell('over');
}

const stuckStream = (id: number, key: string): Buffer =>
  Buffer.concat([
    headers(id, [
      [':method', 'CONNECT'],
      [':authority', key],
    ]),
    data(id, Buffer.alloc(1_000)),
  ]);

/** Valid connections, as many as are accepted, with as many streams as are allowed, all unread. */
async function crowd(fight: Fight): Promise<void> {
  const socket = await greeted(fight);
  if (socket === undefined) return fight.tell('closed');
  socket.pause();
  for (let lowest = 1; !socket.destroyed && fight.more() && lowest < 8_000; lowest += 100) {
    const open = Array.from({ length: 50 }, (_, index) => stuckStream(lowest + 2 * index, fight.random.pick(['endless', 'stuck'])));
    if (!socket.write(Buffer.concat(open))) await first(socket, ['drain'], 200);
    await setTimeout(1);
  }
  // Holds what it has to the end.
  await first(socket, [], fight.rest());
  fight.tell(socket.destroyed ? 'closed' : 'let be');
  socket.destroy();
}

/** The same where each connection has one of TLS for itself. */
async function holder(fight: Fight, held: TLSSocket[]): Promise<void> {
  const socket = dial(fight);
  await first(socket, ['secureConnect'], GIVE_UP);
  fight.tell(socket.destroyed ? 'closed' : 'let be');
  socket.pause();
  held.push(socket);
}

/** Milliseconds, about, until a connection is on its way to the server. */
const UNDER_WAY = 30;

/** Clients who leave before a server has answered. */
async function leaver({ host, port, random, tell }: Fight): Promise<void> {
  const socket = connectTcp(port, host);
  socket.on('error', () => {});
  await first(socket, ['connect'], GIVE_UP);
  tell(socket.destroyed ? 'closed' : 'let in');
  await setTimeout(random.below(UNDER_WAY));
  socket.resetAndDestroy();
}

/** The beginning of a TLS record with a ClientHello (RFC 8446 sections 4 and 5.1), which never continues. */
const halfHello = Buffer.from('1603010200010001fc0303', 'hex');

/** Sockets by the thousand that say nothing, half a word, or no more than TLS asks for; each is replaced when it is closed. */
async function halfOpen(fight: Fight): Promise<void> {
  const { random, host, port } = fight;
  const kind = random.below(3);
  const socket = kind === 2 ? dial(fight) : connectTcp(port, host);
  socket.on('error', () => {});
  if (kind === 1) socket.once('connect', () => socket.write(halfHello));
  socket.resume();
  await first(socket, [], fight.rest());
  fight.tell(socket.destroyed ? 'closed' : 'let be');
  socket.destroy();
}

export const attacks: Readonly<Record<string, (fight: Fight) => Promise<void>>> = {
  certificates: (fight) =>
    workers(fight, async () => {
      let context: SecureContext | undefined;
      while (context === undefined) {
        try {
          context = createSecureContext(fight.keys.odd(fight.random));
        } catch {
          // Most that are changed in their bytes cannot be loaded: only what goes out is a case.
        }
      }
      const socket = dial(fight, context, fight.random.pick(['h2', 'h2', 'earshot-reverse/1', 'http/1.1']));
      // An accepted client learns that from the server's first bytes: not every server speaks first.
      socket.once('secureConnect', () => socket.write(greeting));
      fight.tell(await outcome(socket));
    }),
  'half-open': (fight) => workers(fight, () => halfOpen(fight), 2_000),
  frames: (fight) =>
    workers(fight, async () => {
      const { random } = fight;
      const socket = dial(fight);
      const source = new FrameSource(random, 'client', LINK_REQUESTS);
      socket.resume();
      socket.once('secureConnect', () => {
        for (const bytes of beginning(random, 'client')) socket.write(bytes);
        for (let left = random.below(300); left > 0; left -= 1) socket.write(source.next());
        if (random.below(2) === 0) socket.end();
      });
      await over(socket);
      fight.tell('over');
    }),
  hellos: (fight) => workers(fight, () => strangeSite(fight)),
  renewals: (fight) => workers(fight, () => renewals(fight), 4),
  crowd: (fight) => workers(fight, () => crowd(fight), 64),
  holders: async (fight) => {
    // To the end.
    const held: TLSSocket[] = [];
    await workers(fight, () => holder(fight, held), 64);
  },
  maps,
  leavers: (fight) => workers(fight, () => leaver(fight), 200),
  // Requests that are not HTTP, almost HTTP, or have guessed codes.
  grants: (fight) =>
    workers(
      fight,
      async () => {
        const socket = dial(fight, createSecureContext({}), 'http/1.1');
        const body = fight.random.below(3) === 0 ? fight.random.bytes(300) : Buffer.from(JSON.stringify({ code: 'guess', siteName: 'x' }));
        const path = fight.random.pick(['/v1/redeem/grant', '/v1/redeem/%', '/', '/v1/redeem/../..']);
        socket.once('secureConnect', () => {
          socket.write(
            `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length + fight.random.below(2)}\r\n\r\n`,
          );
          socket.write(body);
        });
        let heard = socket.destroyed ? 'closed' : 'let be';
        socket.once('data', (chunk: Buffer) => {
          heard = chunk.toString('latin1', 9, 12);
        });
        await first(socket, ['data'], GIVE_UP);
        fight.tell(heard);
        socket.destroy();
      },
      1_000,
    ),
};
