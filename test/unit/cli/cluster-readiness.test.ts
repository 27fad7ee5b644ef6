import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { answer, chunk, eventLine, failure, RawServer, startChunks } from '../kube/raw-server.ts';
import { freePort } from '../support/free-port.ts';

const MAIN = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url));

/** An API server that has nothing, answers for its Sites when it is let, and for Secrets never. */
function apiServer(sites: Promise<unknown>): Promise<RawServer> {
  const tellNothing = (socket: Socket): void => {
    startChunks(socket);
    const annotations = { 'k8s.io/initial-events-end': 'true' };
    chunk(socket, eventLine('BOOKMARK', { kind: 'Any', apiVersion: 'v1', metadata: { resourceVersion: '1', annotations } }));
  };
  return RawServer.start(({ path, query }, socket) => {
    const what = path.split('/').at(-1);
    if (what === 'secrets') return;
    if (!query.has('watch')) answer(socket, 404, failure(404, 'NotFound', 'not found'));
    else if (what === 'sites') void sites.then(() => tellNothing(socket));
    else tellNothing(socket);
  });
}

test('a router in a cluster is not ready while it waits for its Secrets: nothing listens yet', async (t) => {
  const home = await mkdtemp(join(tmpdir(), 'earshot-readiness-'));
  t.after(() => rm(home, { recursive: true, force: true }));
  const sites = Promise.withResolvers<void>();
  await using server = await apiServer(sites.promise);
  const kubeconfig = join(home, 'kubeconfig');
  const clusters = [{ name: 'c', cluster: { server: server.url } }];
  await writeFile(kubeconfig, JSON.stringify({ 'current-context': 'x', contexts: [{ name: 'x', context: { cluster: 'c' } }], clusters }));
  const [http, metrics, api] = [await freePort(), await freePort(), await freePort()];
  const ports = [`--http-port=${http}`, `--metrics-port=${metrics}`, `--api-port=${api}`];
  const child = spawn(process.execPath, [MAIN, 'router', '--namespace=west', '--pod=west-0', `--kubeconfig=${kubeconfig}`, ...ports], {
    stdio: 'ignore',
    env: { ...process.env, EARSHOT_TUNED: '1' },
  });
  t.after(() => child.kill('SIGKILL'));
  const readiness = async (pattern: RegExp): Promise<string> => {
    for (;;) {
      const said = await fetch(`http://127.0.0.1:${http}/readyz`).then(
        async (response) => `${response.status} ${await response.text()}`,
        () => '',
      );
      if (pattern.test(said)) return said;
      assert.equal(child.exitCode, null, 'it ended');
      await setTimeout(10);
    }
  };
  await readiness(/waiting for the first list of Site\n?$/);
  sites.resolve();
  assert.match(await readiness(/^\d+ (?!.*waiting for the first list)/), /^503 /);
});
