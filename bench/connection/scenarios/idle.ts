import { ownProgram, type Bench, type System } from '../bench.ts';
import { settledMemory } from './memory.ts';

/** HAProxy holds two descriptors for each, and the machine's limit for one process is 20,000. */
const MOST_OF_HAPROXY = 4_000;

/** Cost of each of many connections that once sent a byte, in fresh processes: after load, slack would hide it. */
export async function measureIdle(bench: Bench, system: System): Promise<void> {
  if (system.name === 'direct') return;
  const { host, options, record } = bench;
  const count = system.name === 'haproxy' ? Math.min(options.idleConnections, MOST_OF_HAPROXY) : options.idleConnections;
  await using running = await system.start();
  const { ends } = running;
  if (ends === undefined) return;
  const before = { client: await settledMemory(ends.client), server: await settledMemory(ends.server) };
  await using clients = await host.spawn([...ownProgram('idle'), String(running.ports.echo), String(count)], {
    name: `idle-${system.name}`,
  });
  await clients.ready(() => clients.output.includes('all are open'), { timeoutMs: 60_000 });
  for (const end of ['client', 'server'] as const) {
    record(`idle-${end}`, system.name, (((await settledMemory(ends[end])) - before[end]) * 1_000) / count);
  }
  if (!clients.running) throw new Error(`an idle connection through ${system.name} was closed`);
}
