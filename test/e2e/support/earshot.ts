/** Facts about the running Earshot for tests: its place, and its metrics. */
import { request } from 'undici';
import type { KubeObject } from '../../../src/kube/objects.ts';
import { HarnessError, type Cluster } from '../../harness/index.ts';

interface EarshotPod extends KubeObject {
  readonly spec: { readonly containers: readonly { readonly name: string; readonly image: string }[] };
  readonly status: { readonly podIP?: string };
}

async function podsOf(cluster: Cluster, component: 'controller' | 'node'): Promise<readonly EarshotPod[]> {
  const selector = `app.kubernetes.io/name=earshot,app.kubernetes.io/component=${component}`;
  const { items } = await cluster.api.get<{ readonly items: readonly EarshotPod[] }>(
    `/api/v1/pods?labelSelector=${encodeURIComponent(selector)}`,
  );
  return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
}

/** The image that Earshot runs from. It holds Node.js, which makes it an image for small servers of tests too. */
export async function earshotImage(cluster: Cluster): Promise<string> {
  const image = (await podsOf(cluster, 'node')).flatMap(({ spec }) => spec.containers.map((container) => container.image))[0];
  if (image === undefined) throw new HarnessError('NO_CLUSTER', 'Earshot is not installed on this cluster');
  return image;
}

/** Runs a script in the image above. */
export function nodeCommand(script: string): readonly string[] {
  return ['/usr/local/bin/node', '--eval', script];
}

/** A counter of the controller, all replicas together, over the samples that have all these labels. */
export async function controllerCount(cluster: Cluster, metric: string, labels: Readonly<Record<string, string>>): Promise<number> {
  const texts = await Promise.all(
    (await podsOf(cluster, 'controller')).map(async ({ status }) => {
      const { body } = await request(`http://${status.podIP}:8080/metrics`);
      return body.text();
    }),
  );
  const wanted = Object.entries(labels).map(([name, value]) => `${name}="${value}"`);
  const samples = texts
    .flatMap((text) => text.split('\n'))
    .filter((line) => line.startsWith(`${metric}{`) && wanted.every((label) => line.includes(label)));
  return samples.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
}
