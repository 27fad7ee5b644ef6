import { existsSync, readdirSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { isRecord } from '../../src/text/is-record.ts';
import type { Cluster } from './cluster.ts';
import { run } from './command.ts';
import { toolFolder } from './tools.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const NAMESPACE = 'earshot-system';

export interface InstallOptions {
  /** Values over those of the chart. */
  readonly values?: Readonly<Record<string, unknown>>;
  /** With the connection half beside the exposure half. */
  readonly connection?: boolean;
  /** More arguments for Helm. */
  readonly args?: readonly string[];
  readonly log?: (line: string) => void;
}

/** The images that an installation runs, built from this checkout where they are missing or older than their sources. */
export async function buildImages(
  log: (line: string) => void = () => undefined,
  options: Pick<InstallOptions, 'values'> = {},
): Promise<readonly string[]> {
  const earshot = `${ROOT}dist/earshot.tar`;
  if (isOlder(earshot, ['src', 'scripts', 'package.json', 'package-lock.json'])) {
    log('building the image');
    await run(process.execPath, ['scripts/image.ts'], { cwd: ROOT });
  }
  return hasSidecar(options.values) ? [earshot, await sidecarImage(log)] : [earshot];
}

function hasSidecar(values: InstallOptions['values']): boolean {
  return valuesAt({ values }, 'provisioner')['sidecar'] === true;
}

function valuesAt({ values }: { readonly values?: InstallOptions['values'] | undefined }, part: string): Readonly<Record<string, unknown>> {
  const at = values?.[part];
  return isRecord(at) ? at : {};
}

async function sidecarImage(log: (line: string) => void): Promise<string> {
  const image = `${ROOT}dist/csi-provisioner.tar`;
  const program = `${await toolFolder('csi-provisioner', log)}/csi-provisioner`;
  if (isOlder(image, ['scripts/image.ts', 'scripts/image']) || statSync(image).mtimeMs < statSync(program).mtimeMs) {
    await run(process.execPath, ['scripts/image.ts', '--csi-provisioner', program], { cwd: ROOT });
  }
  return image;
}

/** The same from the rendered chart, deploy/earshot.yaml: without waiting for Helm to be built. */
export async function installManifest(cluster: Cluster, log: (line: string) => void = () => undefined): Promise<void> {
  for (const image of await buildImages(log)) await cluster.loadImage(image);
  log('applying deploy/earshot.yaml');
  await cluster.kubectl(['apply', '--server-side', '--filename', `${ROOT}deploy/earshot.yaml`]);
  for (const workload of ['deployment/earshot-controller', 'daemonset/earshot-node']) {
    await cluster
      .kubectl(['--namespace', NAMESPACE, 'rollout', 'status', workload, '--timeout=300s'], { timeoutMs: 330_000 })
      .catch(explain(cluster));
  }
  log('Earshot is ready');
}

/** Installs Earshot from this checkout's image and chart, and returns when controller and node drivers are ready. */
export async function installEarshot(cluster: Cluster, options: InstallOptions = {}): Promise<void> {
  const { log = () => undefined } = options;
  const values = {
    ...options.values,
    ...(options.connection === true ? { connection: { ...fromWithin(cluster), ...valuesAt(options, 'connection') } } : {}),
  };
  for (const image of await buildImages(log, options)) await cluster.loadImage(image);
  const helm = `${await toolFolder('helm', log)}/helm`;
  log('installing the chart');
  await run(
    helm,
    [
      'upgrade',
      '--install',
      'earshot',
      `${ROOT}deploy/chart`,
      '--namespace',
      NAMESPACE,
      '--create-namespace',
      '--values',
      '-',
      '--wait',
      '--timeout',
      '300s',
      '--kubeconfig',
      cluster.kubeconfig,
      ...(options.args ?? []),
    ],
    { input: JSON.stringify(values), timeoutMs: 330_000 },
  ).catch(explain(cluster));
  log('Earshot is ready');
}

/** Nothing stands before the cluster: sites, and the server for tokens, are reached from within, unless a Site asks for a port of a node. */
function fromWithin({ nodes }: Cluster): object {
  return {
    enabled: true,
    defaultAccessType: 'local',
    enabledAccessTypes: ['local', 'loadbalancer', 'route', 'nodeport'],
    clusterHost: nodes[0]?.addresses[0] ?? '',
  };
}

/** Takes away what installEarshot made of the chart, and returns when its pods are gone. */
export async function uninstallEarshot(cluster: Cluster): Promise<void> {
  const helm = `${await toolFolder('helm')}/helm`;
  await run(helm, ['uninstall', 'earshot', '--namespace', NAMESPACE, '--wait', '--kubeconfig', cluster.kubeconfig]);
  await cluster.kubectl(['--namespace', NAMESPACE, 'wait', 'pods', '--all', '--for=delete', '--timeout=120s']);
}

function explain(cluster: Cluster): (error: unknown) => Promise<never> {
  return async (error) => {
    throw new Error(
      `Earshot did not become ready: ${error instanceof Error ? error.message : String(error)}\n${await whatPodsSay(cluster)}`,
      { cause: error },
    );
  };
}

async function whatPodsSay(cluster: Cluster): Promise<string> {
  const ask = (args: readonly string[]): Promise<string> => cluster.kubectl(['--namespace', NAMESPACE, ...args]).catch(String);
  return [
    await ask(['get', 'pods', '--output', 'wide']),
    await ask(['get', 'events', '--sort-by=.lastTimestamp']),
    await ask(['logs', '--selector', 'app.kubernetes.io/instance=earshot', '--all-containers', '--prefix', '--tail=20']),
  ].join('\n');
}

/** True where a built file is missing or any of its sources is newer. */
function isOlder(built: string, sources: readonly string[]): boolean {
  if (!existsSync(built)) return true;
  const { mtimeMs } = statSync(built);
  return sources.some((source) => newest(`${ROOT}${source}`) > mtimeMs);
}

function newest(path: string): number {
  const stat = statSync(path);
  if (!stat.isDirectory()) return stat.mtimeMs;
  return readdirSync(path, { recursive: true, encoding: 'utf8' }).reduce(
    (latest, file) => Math.max(latest, statSync(`${path}/${file}`).mtimeMs),
    stat.mtimeMs,
  );
}
