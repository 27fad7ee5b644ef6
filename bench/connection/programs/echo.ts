/** `node echo.ts PORT`: says back what it hears, to many connections that say little. */
import { createServer } from 'node:net';

createServer({ noDelay: true }, (socket) => {
  socket.on('error', () => undefined);
  socket.pipe(socket);
}).listen({ host: '127.0.0.1', port: Number(process.argv[2]), backlog: 4_096 });
