/** Commands and the console as users run them on their own machine, with a kubeconfig. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execute, type Outcome } from '../../harness/command.ts';
import { eventually } from '../../harness/index.ts';
import { environment } from '../../harness/program.ts';
import type { Namespace } from './namespace.ts';

const MAIN = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url));

export type Json = Readonly<Record<string, unknown>>;

export interface ConsoleAtHome extends AsyncDisposable {
  get(path: string): Promise<Json>;
}

/** Runs a command to its end. @param kubeconfig default: that of an administrator */
export function earshot({ name, cluster }: Namespace, words: readonly string[], kubeconfig: string = cluster.kubeconfig): Promise<Outcome> {
  return execute([process.execPath, MAIN, '--kubeconfig', kubeconfig, '--namespace', name, ...words], { env: environment({}) });
}

/** Starts the console, and signs in. @throws Error with what it printed if it ends */
export async function openConsole({ name, cluster }: Namespace, kubeconfig: string = cluster.kubeconfig): Promise<ConsoleAtHome> {
  const args = [MAIN, '--kubeconfig', kubeconfig, '--namespace', name, 'console'];
  const child = spawn(process.execPath, args, { env: environment({}), stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => void (output += chunk.toString('utf8')));
  const ended = once(child, 'exit');
  const link = await eventually('the link', () => {
    if (child.exitCode !== null) return 'ended';
    return /^(http:\S+)#t=(\S+)$/m.exec(output) ?? undefined;
  });
  if (link === 'ended') throw new Error(output);
  const [, origin = '', token = ''] = link;
  const session = await fetch(`${origin}api/v1/session`, { method: 'POST', body: JSON.stringify({ token }) });
  const { bearer } = (await session.json()) as { readonly bearer: string };
  return {
    get: async (path) => {
      const answer = await fetch(`${origin}api/v1/${path}`, { headers: { authorization: `Bearer ${bearer}` } });
      return (await answer.json()) as Json;
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** A kubeconfig of a new account with that role of Kubernetes in the namespace. */
export async function kubeconfigOf(namespace: Namespace, role: string): Promise<string> {
  const { cluster, name } = namespace;
  await namespace.create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: role } });
  await cluster.api.create(`/apis/rbac.authorization.k8s.io/v1/namespaces/${name}/rolebindings`, {
    metadata: { name: role },
    subjects: [{ kind: 'ServiceAccount', name: role, namespace: name }],
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
  });
  return writeKubeconfig(namespace, role);
}

/** A kubeconfig of an account of the namespace. */
export async function writeKubeconfig({ cluster, name: namespace }: Namespace, account: string): Promise<string> {
  const { ca } = cluster.state.credentials;
  const server = { server: cluster.apiUrl, 'certificate-authority-data': Buffer.from(ca).toString('base64') };
  const config = {
    clusters: [{ name: 'c', cluster: server }],
    users: [{ name: 'u', user: { token: await cluster.token(namespace, account) } }],
    contexts: [{ name: 'here', context: { cluster: 'c', user: 'u', namespace } }],
    'current-context': 'here',
  };
  const path = join(cluster.layout.dir, `${namespace}-${account}.kubeconfig`);
  await writeFile(path, JSON.stringify(config), { mode: 0o600 });
  return path;
}
