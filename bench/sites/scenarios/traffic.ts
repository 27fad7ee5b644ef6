/** Bulk and requests from pod to pod, over a link and over a pair of HAProxy pods; in each round each way has its turn. */
import { cpuSince } from '../../cluster/processes.ts';
import { readIperf3, readWrk } from '../../connection/loads.ts';
import type { Bench } from '../bench.ts';
import { closePlaces } from '../places.ts';
import { CLIENT, endsOf, openWays, PORTS, SYSTEMS, type System, type Ways } from '../traffic-pods.ts';

const CONNECTIONS = 50;

type Turn = Readonly<Record<'bulk-1' | 'bulk-8' | 'keep-alive', number>>;

export async function measureTraffic(bench: Bench): Promise<void> {
  const { sizes, record, log } = bench;
  const ways = await openWays(bench);
  for (const system of SYSTEMS) await turn(bench, ways, system, 1);
  for (let round = 1; round <= sizes.rounds; round++) {
    const turns: Partial<Record<System, Turn>> = {};
    for (const system of SYSTEMS) {
      const result = await turn(bench, ways, system, sizes.trafficSeconds);
      turns[system] = result;
      for (const [id, value] of Object.entries(result)) record(`${id}-${system}`, value);
    }
    const { haproxy, earshot } = turns;
    if (haproxy === undefined || earshot === undefined) throw new TypeError('each way had its turn');
    for (const id of ['bulk-1', 'bulk-8', 'keep-alive'] as const) record(id, earshot[id] / haproxy[id]);
    log(
      `round ${round}: ${(['bulk-1', 'bulk-8', 'keep-alive'] as const).map((id) => `${id} ${(earshot[id] / haproxy[id]).toFixed(2)} ×`).join(', ')}`,
    );
  }
  await closePlaces(bench, [ways.west, ways.east]);
}

async function turn(bench: Bench, ways: Ways, system: System, seconds: number): Promise<Turn> {
  const { cluster, log } = bench;
  const hosts = ways.hosts[system];
  const spent = cpuSince({ ends: await endsOf(bench, ways, system) });
  const timeoutMs = (seconds + 20) * 1_000;
  const bulk = async (connections: number): Promise<number> => {
    const args = ['-c', hosts.iperf3, '-p', String(PORTS.iperf3), '-P', String(connections), '-t', String(seconds), '-J'];
    return readIperf3(await cluster.exec(ways.west, CLIENT, ['iperf3', ...args], { timeoutMs })).gigabits;
  };
  const [one, eight] = [await bulk(1), await bulk(8)];
  const load = ['-t', '1', '-c', String(CONNECTIONS), '-d', `${seconds}s`, '--timeout', '5s', '--latency'];
  const said = await cluster.exec(ways.west, CLIENT, ['wrk', ...load, `http://${hosts.http}:${PORTS.http}/`], { timeoutMs });
  const { perSecond } = readWrk(said);
  log(
    `  ${system}: ${one.toFixed(2)} and ${eight.toFixed(2)} Gbit/s, ${perSecond.toFixed(0)} requests a second; CPU of both ends ${spent().ends.toFixed(1)} s`,
  );
  return { 'bulk-1': one, 'bulk-8': eight, 'keep-alive': perSecond };
}
