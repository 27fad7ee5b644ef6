/**
 * A site that takes what it gets, until SIGTERM: `node greedy.ts HOST PORT DIRECTORY COUNT`, with COUNT certificates of its own in the
 * directory (`0.crt`, `0.key`, …) and `ca.crt`. It opens connections with all of them, and on each as many streams as possible: to
 * `endless`, without reading, to `stuck`, which reads nothing of what it sends, byte by byte or in bulk, and to an unknown key. Prints in
 * one JSON line how many it opened and how many were refused.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2';
import { setTimeout } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';

const [host = '', port = '0', directory = '', count = '0'] = process.argv.slice(2);
const read = (name: string): string => readFileSync(`${directory}/${name}`, 'utf8');
const said = { connections: 0, streams: 0, refused: 0 };

const KEYS = ['endless', 'stuck', 'stuck', 'nobody'] as const;
const BULK = Buffer.alloc(16_384);
const BYTE = Buffer.alloc(1);
const AT_ONCE = 8;
/** Waits after it was refused, milliseconds. */
const PAUSE = 5;

async function open(certificate: number): Promise<ClientHttp2Session | undefined> {
  const own = { ca: read('ca.crt'), cert: read(`${certificate}.crt`), key: read(`${certificate}.key`) };
  const socket = connectTls({ host, port: Number(port), ...own, ALPNProtocols: ['h2'], rejectUnauthorized: false });
  socket.on('error', () => {});
  await Promise.race([once(socket, 'secureConnect'), once(socket, 'close')]).catch(() => {});
  if (socket.destroyed) return undefined;
  const session = connectHttp2('https://earshot', { createConnection: () => socket, settings: { initialWindowSize: 1 << 20 } });
  session.on('error', () => {});
  return session;
}

async function stream(session: ClientHttp2Session, at: number): Promise<boolean> {
  const key = KEYS[at % KEYS.length] ?? 'endless';
  const opened = session.request({ ':method': 'CONNECT', ':authority': key }, { endStream: false });
  opened.on('error', () => {});
  const answered = once(opened, 'response').catch(() => []);
  const [head] = (await Promise.race([answered, setTimeout(2_000, [])])) as [{ ':status'?: number }?];
  if (head?.[':status'] !== 200) return false;
  // Data of `endless` waits in the router, beyond the windows.
  opened.pause();
  if (key === 'stuck') for (let left = at % 32 === 1 ? 2_000 : 32; left > 0; left -= 1) opened.write(left > 32 ? BYTE : BULK);
  return true;
}

async function fill(certificate: number): Promise<void> {
  for (;;) {
    const session = await open(certificate).catch(() => undefined);
    if (session === undefined) {
      await setTimeout(PAUSE);
      continue;
    }
    said.connections += 1;
    for (let at = certificate; !session.destroyed && !session.closed; at += AT_ONCE) {
      const taken = await Promise.all(Array.from({ length: AT_ONCE }, (_, each) => stream(session, at + each).catch(() => false)));
      const streams = taken.filter(Boolean).length;
      said.streams += streams;
      said.refused += AT_ONCE - streams;
      await setTimeout(PAUSE);
    }
    session.destroy();
  }
}

process.once('SIGTERM', () => {
  console.log(JSON.stringify(said));
  process.exit(0);
});
await Promise.all(Array.from({ length: Number(count) }, (_, certificate) => fill(certificate)));
