import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { it } from 'node:test';
import { HarnessError, connectCluster, startCluster } from '../harness/index.ts';
import { CLUSTERS } from '../harness/layout.ts';
import { isRunning } from '../harness/processes.ts';

const NAME = 'harness-crash';
const RECORD = `${CLUSTERS}/${NAME}/state.json`;

it('removes what a killed process left of its cluster at the next start of that name', { timeout: 400_000 }, async () => {
  const program = `import { startCluster } from ${JSON.stringify(new URL('../harness/index.ts', import.meta.url).href)};
    await startCluster({ name: '${NAME}', nodes: 1, dns: false });
    console.log('up');
    setInterval(() => undefined, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module-typescript', '--eval', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  const left = connectCluster(RECORD);
  const { processes, layout } = left.state;
  await left.api.close();
  child.kill('SIGKILL');
  await once(child, 'exit');
  assert.ok(processes.every(isRunning), 'a kill leaves the servers running');

  const heard: string[] = [];
  await using cluster = await startCluster({ name: NAME, nodes: 1, dns: false, log: (line) => heard.push(line) });
  assert.match(heard[0] ?? '', /crashed/);
  assert.ok(!processes.some(isRunning), 'the old servers are gone');
  assert.match(await cluster.kubectl(['get', 'nodes']), /Ready/);
  rmSync(layout.logs, { recursive: true });
});

it('says which component failed, shows the end of its log, and leaves only logs behind', { timeout: 180_000 }, async () => {
  const squatters = await squat(2379);
  try {
    await assert.rejects(startCluster({ name: NAME, nodes: 1 }), (error: unknown) => {
      assert.ok(error instanceof HarnessError);
      assert.equal(error.code, 'COMPONENT_FAILED');
      assert.match(error.message, /etcd (ended|is not ready)/);
      assert.match(error.message, /address already in use/);
      const logs = /All logs: (\S+)/.exec(error.message)?.[1] ?? '';
      assert.ok(existsSync(`${logs}/etcd.log`));
      rmSync(logs, { recursive: true });
      return true;
    });
    assert.ok(!existsSync(`${CLUSTERS}/${NAME}`));
    assert.ok(!existsSync(`/run/netns/${NAME}-1`));
  } finally {
    for (const server of squatters) server.close();
  }
});

/** Takes a port on the loopback address of every cluster that is not running. */
async function squat(port: number): Promise<readonly Server[]> {
  const servers: Server[] = [];
  for (let index = 0; index < 16; index++) {
    const server = createServer().listen(port, `127.77.${index}.1`);
    const won = await Promise.race([once(server, 'listening').then(() => true), once(server, 'error').then(() => false)]).catch(
      () => false,
    );
    if (won) servers.push(server);
  }
  return servers;
}
