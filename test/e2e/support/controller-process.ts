/** A controller of the test's own, on this machine, that it can kill. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Cluster } from '../../harness/index.ts';

const MAIN = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url));

export interface ControllerProcess extends AsyncDisposable {
  /** As a power failure would: at once, with nothing said to anybody. */
  kill(): void;
}

/** Starts a controller without leader election that reaches the API server at `server`; its log joins the cluster's. */
export async function startControllerProcess(cluster: Cluster, options: { readonly server: string }): Promise<ControllerProcess> {
  const kubeconfig = `${cluster.layout.dir}/controller-under-test.kubeconfig`;
  await writeFile(
    kubeconfig,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'proxy', cluster: { server: options.server } }],
      users: [{ name: 'none', user: {} }],
      contexts: [{ name: 'proxy', context: { cluster: 'proxy', user: 'none' } }],
      'current-context': 'proxy',
    }),
  );
  const log = openSync(`${cluster.logs}/controller-under-test.log`, 'a');
  const child = spawn(
    process.execPath,
    [
      MAIN,
      'controller',
      '--namespace=default',
      '--identity=under-test',
      '--no-leader-election',
      '--no-manage-crds',
      '--http-port=0',
      `--kubeconfig=${kubeconfig}`,
      '--log-level=debug',
    ],
    { stdio: ['ignore', log, log] },
  );
  closeSync(log);
  const ended = once(child, 'exit');
  const kill = (): void => void child.kill('SIGKILL');
  process.once('exit', kill);
  return {
    kill,
    async [Symbol.asyncDispose]() {
      kill();
      await ended;
      process.off('exit', kill);
    },
  };
}
