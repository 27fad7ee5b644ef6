/** Decides for all commands where the resources of a namespace are stored. */
import { access } from 'node:fs/promises';
import { homedir } from 'node:os';
import { kubeconfigFiles } from '../kube/client/kubeconfig-files.ts';
import type { Discovery, KubeClient, PodAccess } from '../kube/contract.ts';
import type { ClusterPlace } from '../platform/kubernetes/resources.ts';
import { layoutOf } from '../platform/linux/layout.ts';
import { directoryResources, conventions as machineWays } from '../platform/linux/resources.ts';
import type { PlatformConventions, Resources } from '../platform/resources.ts';
import { quoted } from '../text/printable.ts';
import { CliError } from './errors.ts';
import { requireOwnNamespace } from './own-namespace.ts';
import {
  choosePlatform,
  clusterFlags,
  clusterNamespace,
  isMachine,
  machineFlags,
  machineNamespace,
  type Choice,
  type MachinePlatform,
  type PlaceWords,
} from './place.ts';

/**
 * @param begins set if the command creates a site, which is allowed even if another user has a namespace of that name
 * @param patience timeout in milliseconds of requests to a cluster
 */
export async function openResources(words: PlaceWords, begins?: true, patience: number = PATIENCE): Promise<Resources> {
  if (isMachine((await platformFor(words)).platform)) {
    const namespace = machineNamespace(words, process.env);
    if (begins === undefined) await requireOwnNamespace(namespace);
    return directoryResources(layoutOf(namespace), machineFlags(words, namespace));
  }
  const [{ client, place }, { clusterResources }] = await Promise.all([
    openCluster(words, patience),
    import('../platform/kubernetes/resources.ts'),
  ]);
  return clusterResources(client, place, async () => {
    const { ledgerOf } = await import('../site-controller/trust/ledger-of-namespace.ts');
    return (await ledgerOf(client, place.namespace)).revoked();
  });
}

export async function platformFor(words: PlaceWords): Promise<Choice> {
  const { env } = process;
  const [kubeconfigs, hasNamespace] = await Promise.all([
    kubeconfigFiles(env, homedir()),
    isThere(() => layoutOf(machineNamespace(words, env)).root),
  ]);
  return choosePlatform(words, env, { kubeconfigs, hasNamespace, isPod: (env['KUBERNETES_SERVICE_HOST'] ?? '') !== '' });
}

/** Defaults on the selected platform, without opening it. */
export async function conventionsFor(words: PlaceWords): Promise<PlatformConventions> {
  if (isMachine((await platformFor(words)).platform)) return machineWays;
  return (await import('../platform/kubernetes/kubernetes-conventions.ts')).conventions;
}

/** @returns the machine platform that is selected; linux if a cluster is */
export async function machinePlatformFor(words: PlaceWords): Promise<MachinePlatform> {
  const { platform } = await platformFor(words);
  return isMachine(platform) ? platform : 'linux';
}

/** @throws CliError usage if a cluster is selected, not-found if the namespace belongs to another user */
export async function requireMachine(words: PlaceWords, command: string): Promise<void> {
  if (isMachine((await platformFor(words)).platform)) return requireOwnNamespace(machineNamespace(words, process.env));
  throw new CliError(
    'usage',
    `The command ${command} does not support kubernetes: use it for sites on machines (--platform linux, podman or docker).`,
  );
}

export interface Cluster {
  readonly client: KubeClient & PodAccess & Partial<Discovery>;
  readonly place: ClusterPlace;
}

/** Request timeout in milliseconds. */
const PATIENCE = 30_000;

/** Opens the cluster that kubectl would use. */
export async function openCluster(words: PlaceWords, patience: number = PATIENCE): Promise<Cluster> {
  const { env } = process;
  const [{ loadConfig }, { createClient }] = await Promise.all([import('../kube/client/config.ts'), import('../kube/client/client.ts')]);
  const found = words.kubeconfig === undefined ? kubeconfigFiles(env, homedir()) : [words.kubeconfig];
  const config = await loadConfig({ context: words.context, ...(found.length === 0 ? {} : { kubeconfig: found }) });
  const { server } = await config.load();
  const place: ClusterPlace = {
    namespace: clusterNamespace(words, env, config.namespace),
    cluster: config.context === undefined ? 'this cluster' : `the cluster of context ${quoted(config.context)}`,
    server,
    commandFlags: clusterFlags(words),
  };
  return { place, client: createClient({ config, userAgent: 'earshot-cli', fieldManager: FIELD_MANAGER, requestTimeout: patience }) };
}

/** Field manager of the fields that commands write (metadata.managedFields). */
const FIELD_MANAGER = 'earshot-cli';

async function isThere(path: () => string): Promise<boolean> {
  try {
    await access(path());
    return true;
  } catch {
    return false;
  }
}
