/**
 * Those that a router dials, and that do what none should: `node answers.ts HOST FIRST-PORT COUNT DIRECTORY SEED` listens at so many ports, with
 * what `Keyring` reads in the directory, and answers each connection otherwise. SIGUSR2 asks for what came of them, one JSON line.
 */
import { createServer as createTcpServer, type Socket } from 'node:net';
import { createSecureContext, TLSSocket, type SecureContext } from 'node:tls';
import { Random } from '../../../bench/routing/random.ts';
import { generateSiteKey } from '../../../src/identity/site-key.ts';
import { siteIdOf } from '../../../src/identity/site-id.ts';
import { FrameType } from '../../../src/http2/frames.ts';
import { frameMessage } from '../../../src/router/link/session/framing.ts';
import { writeHello } from '../../../src/router/link/session/hello.ts';
import { EXPORTER_BYTES, EXPORTER_LABEL } from '../../../src/router/wire.ts';
import { beginning, data, frame, FrameSource, headers } from '../../fuzz/frames.ts';
import { LINK_REQUESTS, routingBytes } from '../../fuzz/link-words.ts';
import { mutate } from '../../fuzz/mutate.ts';
import { Keyring } from './shown.ts';

const [host = '', ports = '', many = '', directory = '', seed = '1'] = process.argv.slice(2);
const [first, count] = [Number(ports), Number(many)];
const keys = new Keyring(directory);
const random = new Random(Number(seed));
const counts: Record<string, number> = {};

const good = createSecureContext(keys.server(host));

/** Answer for the next connection: mostly a valid one, so that it gets further. */
function shown(): SecureContext {
  if (random.below(3) > 0) return good;
  for (;;) {
    try {
      return createSecureContext(keys.odd(random));
    } catch {
      // Changed beyond what can be loaded.
    }
  }
}

type Behaviour = (socket: TLSSocket) => void;

const { key } = generateSiteKey();
const site = { id: siteIdOf(key.publicKey), name: 'answers', namespace: 'x', platform: 'linux', version: '1' } as const;

const behaviours: Readonly<Record<string, Behaviour>> = {
  silent: () => {},
  closes: (socket) => socket.end(),
  garbage: (socket) => socket.write(random.bytes(400)),
  frames: (socket) => {
    const source = new FrameSource(random, 'server', LINK_REQUESTS);
    for (const bytes of beginning(random, 'server')) socket.write(bytes);
    for (let left = random.below(200); left > 0; left -= 1) socket.write(source.next());
  },
  // Opens the link as it should be opened, and then says whatever.
  joins: (socket) => {
    const exporter = socket.exportKeyingMaterial(EXPORTER_BYTES, EXPORTER_LABEL, Buffer.alloc(0));
    const hello = writeHello({ versions: [1], router: 'main', site, edge: false, link: { id: 'a'.repeat(16), cost: 1 } }, key, {
      exporter,
      role: 'server',
    });
    socket.write(frame(FrameType.SETTINGS, 0, 0));
    socket.write(frame(FrameType.SETTINGS, 1, 0));
    socket.write(
      Buffer.concat([headers(1, [[':status', '200']]), data(1, frameMessage(random.below(3) === 0 ? mutate(random, hello) : hello))]),
    );
    const source = new FrameSource(random, 'server', LINK_REQUESTS);
    const timer = setInterval(() => socket.write(random.below(3) === 0 ? source.next() : routingBytes(random)), 5);
    socket.once('close', () => clearInterval(timer));
  },
};

function answer(raw: Socket): void {
  raw.on('error', () => {});
  if (random.below(8) === 0) {
    tell('no-tls');
    raw.write(random.bytes(200));
    raw.resume();
    return;
  }
  const socket = new TLSSocket(raw, {
    isServer: true,
    secureContext: shown(),
    requestCert: true,
    rejectUnauthorized: false,
    ALPNProtocols: ['h2'],
  });
  socket.on('error', () => raw.destroy());
  socket.once('secure', () => {
    const name = random.pick(Object.keys(behaviours));
    tell(name);
    behaviours[name]?.(socket);
  });
  socket.resume();
}

function tell(what: string): void {
  counts[what] = (counts[what] ?? 0) + 1;
}

for (let at = 0; at < count; at += 1) createTcpServer(answer).listen(first + at);
process.on('SIGUSR2', () => console.log(JSON.stringify(counts)));
