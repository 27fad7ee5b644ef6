/**
 * A console of the network that a socket serves: `node bench/console/console.ts SOCKET PAGE`. The file PAGE has the serialized files of
 * the page, since building them here would take memory. Prints its link, its memory each second, and another link for each line of input.
 */
import { readFile } from 'node:fs/promises';
import { deserialize } from 'node:v8';
import { applyV8Flags } from '../../src/cli/processes/v8-flags.ts';
import type { PageAsset } from '../../src/console/assets.ts';

applyV8Flags();
const [{ askSocket, readSocket }, { History }, { serveConsole }, { Watcher }] = await Promise.all([
  import('../../src/platform/linux/router-api.ts'),
  import('../../src/console/history.ts'),
  import('../../src/console/server.ts'),
  import('../../src/console/watcher.ts'),
]);

const [, , socket = '', page = ''] = process.argv;
// The benchmark wrote this type.
const assets = deserialize(await readFile(page)) as readonly PageAsset[];
const sources = {
  resources: {
    namespace: 'west',
    where: 'the namespace west of this machine',
    commandFlags: '',
    list: () => Promise.resolve([]),
    about: () => Promise.resolve({ location: ['Directory', '/'] as const, running: [], routers: [], problems: [] }),
    notRunning: () => Promise.resolve(undefined),
  },
  routers: () => Promise.resolve(['router']),
  ask: async (_: string, path: string): Promise<unknown> => JSON.parse(await askSocket(socket, path)),
  metrics: (_: string, read: (text: string) => void) => readSocket(socket, '/metrics', read),
  observe: async (_: string, site: string): Promise<unknown> => JSON.parse(await askSocket(socket, `/v1/observe?site=${site}`, 'POST')),
  redacted: (resource: object) => resource,
  now: () => Date.now(),
};
const place = { where: sources.resources.where, namespace: 'west', isMachine: true, version: '1' };
const watcher = new Watcher(sources, { place, history: new History(96 * 2 ** 20) });
await watcher.read();
await using server = await serveConsole({ sources, watcher, assets, port: 0, publicUrls: [] });
const printLink = (): void => console.log(server.createLink());
printLink();
process.stdin.on('data', printLink);
setInterval(() => {
  const { rss, heapUsed, external } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  console.log(JSON.stringify({ rss, heapUsed, external, cpu: (user + system) / 1_000 }));
}, 1_000);
if (process.env['HEAP'] !== undefined) {
  const { writeHeapSnapshot } = await import('node:v8');
  setTimeout(() => writeHeapSnapshot(process.env['HEAP']), 100_000);
}
await watcher.run(new AbortController().signal);
