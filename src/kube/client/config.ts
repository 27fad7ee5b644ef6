import { readFile } from 'node:fs/promises';
import { checkToken, readSetting } from './connection.ts';
import type { ConfigSource } from './connection.ts';
import { kubeconfigSource } from './kubeconfig.ts';
import { EarshotError } from '../../errors/earshot-error.ts';
import { hostPort } from '../../text/host-port.ts';

export interface ConfigOptions {
  /** Path of a kubeconfig, or of several that are merged. Default: the service account of the pod in which this process runs. */
  readonly kubeconfig?: string | readonly string[] | undefined;
  /** Context to use instead of the kubeconfig's current one. */
  readonly context?: string | undefined;
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Directory in which a pod's service account is mounted. */
  readonly serviceAccountFolder?: string;
}

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

/**
 * Finds the API server and reads the settings once, so that missing settings are reported at start.
 * @throws EarshotError `kube-config`
 */
export async function loadConfig(options: ConfigOptions = {}): Promise<ConfigSource> {
  const source = await openConfig(options);
  await source.load();
  return source;
}

async function openConfig({ kubeconfig, context, environment, serviceAccountFolder }: ConfigOptions): Promise<ConfigSource> {
  if (kubeconfig !== undefined) return kubeconfigSource(typeof kubeconfig === 'string' ? [kubeconfig] : kubeconfig, context);
  return inClusterSource(environment ?? process.env, serviceAccountFolder ?? SERVICE_ACCOUNT);
}

async function inClusterSource(environment: Readonly<Record<string, string | undefined>>, folder: string): Promise<ConfigSource> {
  const host = environment['KUBERNETES_SERVICE_HOST'];
  const port = environment['KUBERNETES_SERVICE_PORT'] ?? '443';
  if (host === undefined || host === '') {
    throw new EarshotError(
      'kube-config',
      'KUBERNETES_SERVICE_HOST is not set, so this process is not in a pod; name a kubeconfig with --kubeconfig PATH.',
    );
  }
  const server = `https://${hostPort({ host, port })}`;
  const namespace = await readFile(`${folder}/namespace`, 'utf8').then(
    (text) => text.trim(),
    () => undefined,
  );
  return {
    name: folder,
    namespace,
    load: async () => {
      const [token, ca] = await Promise.all([readSetting(`${folder}/token`), readSetting(`${folder}/ca.crt`)]);
      return { server, ca, token: checkToken(token, `${folder}/token`) };
    },
  };
}
