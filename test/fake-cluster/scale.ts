/** `npm run play:scale -- NODES LISTENERS`: one large played cluster, and what it costs the processes of Earshot (docs/scale.md). */
import { replaceSurroundings } from '../simulate/load.ts';
import { aroundClusters, CHANGES } from './surroundings.ts';

const [nodes = 1_000, listeners = 10_000] = process.argv.slice(2).map(Number);
const around = aroundClusters([]);
replaceSurroundings({ ...around, changes: CHANGES.filter(({ file }) => file === 'work/queue.ts') });
Error.stackTraceLimit = 0;
const { LargeCluster } = await import('./large-cluster.ts');
const cluster = new LargeCluster(nodes, listeners);
const row = (cells: readonly (string | number)[]): void => console.log(`| ${cells.join(' | ')} |`);
row(['what happens', 'controller, s of CPU', 'drivers, s', 'writes', 'events delivered', 'looked at for a watch', 'heap, MB']);
row(['---', '---', '---', '---', '---', '---', '---']);
for await (const { what, controller, drivers, writes, delivered, offered, heap } of cluster.phases()) {
  row([what, controller.toFixed(2), drivers.toFixed(2), writes, delivered, offered, heap.toFixed(0)]);
}
process.exit(0);
