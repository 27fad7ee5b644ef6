import { ownProgram, type Bench, type System } from '../bench.ts';
import { iperf3 } from '../loads.ts';

const ROUND_TRIP_MS = 50;
/** Linux lets a receiver's window grow to 6 MiB by default (net.ipv4.tcp_rmem), whatever the distance. */
const WINDOW = 6 * 2 ** 20;

/** Starts what stands between the two ends of a link. Runs as long as the bench. */
export async function startDelay({ host }: Bench, ports: { readonly listen: number; readonly to: number }): Promise<void> {
  const delay = await host.spawn([...ownProgram('delay'), String(ports.listen), String(ports.to), String(ROUND_TRIP_MS), String(WINDOW)], {
    name: `delay-${ports.listen}`,
  });
  await delay.ready(() => host.listens(ports.listen));
}

/** One bulk connection, whose link is far. HAProxy's is what plain TLS gets over the same distance. */
export async function measureDelay(bench: Bench, system: System): Promise<void> {
  if (system.startDelayed === undefined) return;
  await using running = await system.startDelayed();
  const { gigabits } = await iperf3(bench.host, running.ports.iperf3, 1, bench.options.seconds + 1);
  bench.record('delay-bulk', system.name, gigabits);
}
