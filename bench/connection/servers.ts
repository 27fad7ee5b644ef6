import { startIperf3, startNginx } from '../../test/net/harness/index.ts';
import { ownProgram, PORTS, type Bench } from './bench.ts';
import { allowManyConnections } from './many-connections.ts';
import { EARSHOT_DELAY } from './systems/earshot.ts';

/** Servers behind all systems of a host, and room for many short connections. */
export async function startServers({ host }: Pick<Bench, 'host'>): Promise<void> {
  await allowManyConnections(host, [EARSHOT_DELAY.to, EARSHOT_DELAY.listen, 45_671]);
  const address = '127.0.0.1';
  await startNginx(host, { port: PORTS.http, address });
  await startIperf3(host, { port: PORTS.iperf3, address });
  const echo = await host.spawn([...ownProgram('echo'), String(PORTS.echo)], { name: 'echo' });
  await echo.ready(() => host.listens(PORTS.echo));
}
