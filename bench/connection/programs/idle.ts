/** `node idle.ts PORT COUNT`: opens so many connections, has each say one byte and hear it back, says `all are open`, and holds them. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

const [port = 0, count = 0] = process.argv.slice(2).map(Number);
const AT_ONCE = 50;
const open: Socket[] = [];

async function work(): Promise<void> {
  while (open.length < count) {
    const socket = connect({ host: '127.0.0.1', port });
    open.push(socket);
    socket.write('x');
    const [chunk] = await once(socket, 'data');
    if (String(chunk) !== 'x') throw new Error(`heard ${String(chunk)}`);
  }
}

await Promise.all(Array.from({ length: AT_ONCE }, work));
console.log('all are open');
for (const socket of open)
  socket.on('close', () => {
    throw new Error('an idle connection was closed');
  });
