/**
 * `node many-clients.ts PORT COUNT`: opens so many connections to a Redis server, has each ask for an answer, says `all are open`, and
 * holds them. At each SIGUSR2 every one asks again, and it says `all answered N`. It ends with 1 when a connection is closed or hears
 * anything else.
 */
import { connect, type Socket } from 'node:net';

const [port = 0, count = 0] = process.argv.slice(2).map(Number);
const AT_ONCE = 100;
const waiting = new Map<Socket, () => void>();

function fail(why: string): void {
  console.log(why);
  process.exit(1);
}

/** One inline command and its answer (Redis serialization protocol). */
function ask(socket: Socket): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  waiting.set(socket, resolve);
  socket.write('PING\r\n');
  return promise;
}

function open(): Socket {
  const socket = connect({ host: '127.0.0.1', port });
  socket.on('data', (chunk: Buffer) => {
    const text = chunk.toString();
    if (text !== '+PONG\r\n') fail(`heard ${JSON.stringify(text)}`);
    waiting.get(socket)?.();
  });
  socket.on('error', (error) => fail(error.message));
  socket.on('close', () => fail('a connection was closed'));
  return socket;
}

/** Does something for each, a hundred at once. */
async function each<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let item = items[next++]; item !== undefined; item = items[next++]) await work(item);
    }),
  );
}

const sockets: Socket[] = [];
await each(
  Array.from({ length: count }, (_, at) => at),
  async () => {
    const socket = open();
    sockets.push(socket);
    await ask(socket);
  },
);
let rounds = 0;
process.on('SIGUSR2', () => {
  void each(sockets, ask).then(() => {
    rounds += 1;
    console.log(`all answered ${rounds}`);
  });
});
console.log('all are open');
