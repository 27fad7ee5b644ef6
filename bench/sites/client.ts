/** A client in the west, and servers in the east that it reaches over a link. */
import { readFileSync } from 'node:fs';
import { resource } from '../../src/kube/resource.ts';
import type { KubeObject } from '../../src/kube/objects.ts';
import { eventually } from '../../test/harness/index.ts';
import { nodeCommand } from '../../test/e2e/support/earshot.ts';
import { pod, webServer, type Manifest } from '../../test/e2e/support/manifests.ts';
import type { Ground } from '../cluster/load.ts';
import { create, openPair, type Pair } from './places.ts';
import { controllerImage } from './processes.ts';

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
  await run(ground, west, pod(CLIENT, { image: await controllerImage(ground), command: nodeCommand('setInterval(() => {}, 1e9)') }));
  await create(ground, east, 'Connector', 'web', { selector: 'app=web', port: PORT, routingKey: ROUTING_KEY });
  return pair;
}

export const SELECTED = { app: 'web' } as const;

/** Seconds since the machine was booted, which is the same in all containers. */
export function uptime(): number {
  return Number(readFileSync('/proc/uptime', 'utf8').split(' ', 1)[0]);
}

/** When the first answer of a host came, or the first by that pod: by `uptime`. */
export async function answeredAt(ground: Ground, namespace: string, host: string, by?: string): Promise<number> {
  const isIt = by === undefined ? "said !== ''" : `said === ${JSON.stringify(by)}`;
  return Number(await inClient(ground, namespace, host, `const said = await ask(); if (${isIt}) return void console.log(uptime());`));
}

export interface Answers {
  /** Each answer: its server, and its time by `uptime`. */
  readonly answers: readonly { readonly by: string; readonly at: number }[];
  readonly failures: number;
}

/** Asks again and again for so many seconds. */
export async function answersFor(ground: Ground, namespace: string, host: string, seconds: number): Promise<Answers> {
  const ask = `const said = await ask(); console.log(uptime(), said); if (uptime() - begun > ${seconds}) return;`;
  const lines = (await inClient(ground, namespace, host, ask)).trim().split('\n');
  const answers = lines.flatMap((line) => {
    const [at, by = ''] = line.split(' ');
    return by === '' ? [] : [{ by, at: Number(at) }];
  });
  return { answers, failures: lines.length - answers.length };
}

/** Milliseconds between an answer and the next question. */
const PAUSE = 20;
/** Milliseconds after which a question without an answer has failed, and after which it is given up. */
const TIMEOUT = 1_000;
const PATIENCE = 60_000;

/** @param step is done again and again in the pod, until it returns; it has `ask`, `uptime` and `begun` */
function inClient({ cluster }: Ground, namespace: string, host: string, step: string): Promise<string> {
  // A new connection for each question.
  const script = `
    const { get } = require('node:http');
    const uptime = () => Number(require('node:fs').readFileSync('/proc/uptime', 'utf8').split(' ', 1)[0]);
    const begun = uptime();
    const ask = () => new Promise((resolve) => {
      const question = get({ host: ${JSON.stringify(host)}, port: ${PORT}, agent: false, signal: AbortSignal.timeout(${TIMEOUT}) }, (answer) => {
        let said = '';
        answer.setEncoding('utf8').on('data', (text) => (said += text)).on('end', () => resolve(said.trim())).on('error', () => resolve(''));
      });
      question.on('error', () => resolve(''));
    });
    const step = async () => {
      for (;;) {
        ${step}
        await new Promise((resolve) => setTimeout(resolve, ${PAUSE}));
      }
    };
    setTimeout(() => { console.error('no such answer'); process.exit(1); }, ${PATIENCE}).unref();
    void step();`;
  return cluster.exec(namespace, CLIENT, nodeCommand(script), { timeoutMs: PATIENCE + 10_000 });
}

async function run({ client, cluster }: Ground, namespace: string, manifest: Manifest): Promise<void> {
  const { name = '' } = manifest.metadata;
  await client.create(pods, { ...manifest, metadata: { ...manifest.metadata, namespace } });
  const path = `/api/v1/namespaces/${namespace}/pods/${name}`;
  const isRunning = async (): Promise<boolean> =>
    (await cluster.api.get<KubeObject & { readonly status?: { readonly phase?: string } }>(path)).status?.phase === 'Running';
  await eventually(`pod ${name} to run`, isRunning, { timeoutMs: 120_000 });
}
