/** A server with TLS that only attackers use: `node bystander.ts HOST PORT DIRECTORY`, with the certificate of the directory. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:tls';

const [host = '', port = '0', directory = ''] = process.argv.slice(2);
const read = (name: string): Buffer => readFileSync(`${directory}/${name}`);
const server = createServer({ cert: read('tls.crt'), key: read('tls.key'), ca: read('ca.crt'), requestCert: true, ALPNProtocols: ['h2'] });
server.on('secureConnection', (socket) => {
  socket.on('error', () => {});
  socket.resume();
  socket.end();
});
server.listen(Number(port), host);
