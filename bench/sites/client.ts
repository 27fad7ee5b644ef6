/** A client in the west, and servers in the east that it reaches over a link. */
import { readFileSync } from 'node:fs';
import { resource } from '../../src/kube/resource.ts';
import type { KubeObject } from '../../src/kube/objects.ts';
import { eventually } from '../../test/harness/index.ts';
import { pod, webServer, type Manifest } from '../../test/e2e/support/manifests.ts';
import type { Ground } from '../cluster/load.ts';
import { create, openPair, type Pair } from './places.ts';

export const PORT = 8080;
export const ROUTING_KEY = 'web';
const CLIENT = 'client';

const pods = resource<KubeObject>('v1', 'Pod', 'pods');

/** Pods `web` and `other` answer with their names; only the first is selected by the Connector. */
export async function openServed(ground: Ground, purpose: string): Promise<Pair> {
  const pair = await openPair(ground, purpose);
  const { west, east } = pair;
  const server = (name: string): Manifest => pod(name, { script: webServer(PORT), ports: [{ containerPort: PORT }] });
  await run(ground, east, { ...server('web'), metadata: { name: 'web', labels: SELECTED } });
  await run(ground, east, server('other'));
  await run(ground, west, pod(CLIENT));
  await create(ground, east, 'Connector', 'web', { selector: 'app=web', port: PORT, routingKey: ROUTING_KEY });
  return pair;
}

export const SELECTED = { app: 'web' } as const;

/** Seconds since the machine was booted, which is the same in all containers. */
export function uptime(): number {
  return Number(readFileSync('/proc/uptime', 'utf8').split(' ', 1)[0]);
}

/** When the first answer of a host came: by `uptime`. */
export async function answeredAt(ground: Ground, namespace: string, host: string, by = ''): Promise<number> {
  const isIt = by === '' ? '[ -n "$said" ]' : `[ "$said" = ${by} ]`;
  const script = `until said=$(${fetch(host)}); ${isIt}; do sleep 0.02; done; cut -d' ' -f1 /proc/uptime`;
  return Number(await inClient(ground, namespace, script));
}

export interface Answers {
  /** By whom, and when: by `uptime`. */
  readonly answers: readonly { readonly by: string; readonly at: number }[];
  readonly failures: number;
}

/** Asks again and again for so many seconds. */
export async function answersFor(ground: Ground, namespace: string, host: string, seconds: number): Promise<Answers> {
  const second = '$(cut -d. -f1 /proc/uptime)';
  const ask = `said=$(${fetch(host)}); echo "$(cut -d' ' -f1 /proc/uptime) $said"`;
  const lines = (await inClient(ground, namespace, `end=$((${second} + ${seconds})); while [ ${second} -lt $end ]; do ${ask}; done`))
    .trim()
    .split('\n')
    .map((line) => line.split(' '));
  const answers = lines.flatMap(([at, by = '']) => (by === '' ? [] : [{ by, at: Number(at) }]));
  return { answers, failures: lines.length - answers.length };
}

function fetch(host: string): string {
  return `wget -q -T 1 -O - http://${host}:${PORT}/ 2>/dev/null`;
}

function inClient({ cluster }: Ground, namespace: string, script: string): Promise<string> {
  return cluster.exec(namespace, CLIENT, ['timeout', '60', 'sh', '-c', script], { timeoutMs: 70_000 });
}

async function run({ client, cluster }: Ground, namespace: string, manifest: Manifest): Promise<void> {
  const { name = '' } = manifest.metadata;
  await client.create(pods, { ...manifest, metadata: { ...manifest.metadata, namespace } });
  const path = `/api/v1/namespaces/${namespace}/pods/${name}`;
  const isRunning = async (): Promise<boolean> =>
    (await cluster.api.get<KubeObject & { readonly status?: { readonly phase?: string } }>(path)).status?.phase === 'Running';
  await eventually(`pod ${name} to run`, isRunning, { timeoutMs: 120_000 });
}
