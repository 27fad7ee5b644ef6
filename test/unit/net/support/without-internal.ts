/**
 * A process of its own whose Node.js lacks an internal part: `node without-internal.ts NAME`. It connects two sites by a link, and a TLS
 * client to a TLS server through them. Writes the log to standard output, and last what happened, as JSON.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { connect, createServer } from 'node:tls';
import { fileURLToPath } from 'node:url';

const INTERNALS = new URL('../../../../src/net/node-internals.ts', import.meta.url).href;
const [, , hidden = ''] = process.argv;

/** Looking up another name finds what a Node.js without this one has: nothing. */
registerHooks({
  load: (url, context, next) => {
    if (url !== INTERNALS || hidden === '') return next(url, context);
    const source = readFileSync(fileURLToPath(url), 'utf8').replaceAll(new RegExp(`\\b${hidden}\\b`, 'g'), 'absent');
    return { format: 'module-typescript', shortCircuit: true, source };
  },
});

export interface Outcome {
  readonly metrics: string;
  readonly echoed: string;
  readonly bytes: number;
}

const LARGE = 300_000;

const { reportMissingInternals } = await import('../../../../src/net/node-internals.ts');
const { createLogger } = await import('../../../../src/telemetry/log.ts');
const { metrics } = await import('../../../../src/telemetry/metrics.ts');
const { testAuthority } = await import('../../router/support/certificates.ts');
const { access, accessPort, connector, link, listener, siteConfig, start, until } = await import('../../router/support/site.ts');
const { freePort } = await import('../../support/free-port.ts');

reportMissingInternals(createLogger({ level: 'warn', component: 'test' }));
const authority = await testAuthority();
const server = createServer(
  { ...(await authority.issue()), allowHalfOpen: true },
  (socket) => void socket.on('error', () => {}).pipe(socket),
);
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const address = server.address();
const serverPort = address !== null && typeof address === 'object' ? address.port : 0;
const bundle = { name: 'ca', ca: (await authority.issue()).ca ?? '' };
const connectors = [{ ...connector('key', serverPort), tls: { bundle, verifyHostname: false } }];
const west = await start({ ...siteConfig('west'), accesses: [access(await authority.issue())], connectors });
const links = [link('west', await accessPort(west), await authority.issue())];
const port = await freePort();
const tls = await authority.issue();
const east = await start({ ...siteConfig('east'), links, listeners: [{ ...listener('key', port), tls }] });
await until(east, 'a server', (state) => state.listeners['Listener/key']?.reachableKeys.length === 1);
const { cert = '', key = '', ca = '' } = tls;
const client = connect({ port, host: '127.0.0.1', cert, key, ca, servername: 'localhost', checkServerIdentity: () => undefined });
let echoed = Buffer.alloc(0);
client.end(`hello ${'x'.repeat(LARGE)}`);
for await (const chunk of client) echoed = Buffer.concat([echoed, chunk]);
const outcome: Outcome = { metrics: await metrics.metrics(), echoed: echoed.toString('latin1', 0, 5), bytes: echoed.length };
process.stdout.write(`${JSON.stringify(outcome)}\n`, () => process.exit());
