/** The router pods of sites, and what a client at one of them has seen. */
import type { Pod } from '../../../src/kube/objects.ts';
import { eventually } from '../../harness/index.ts';
import { longestOutage, requestsSince, type Request } from './load.ts';
import type { Manifest } from './manifests.ts';
import type { Namespace, RunningPod } from './namespace.ts';
import { collectionOf } from './paths.ts';
import { skupper, untilCondition } from './sites.ts';

export const GROUPS = ['skupper-router', 'skupper-router-2'] as const;

export interface RouterPod extends RunningPod {
  readonly metadata: Pod['metadata'] & { readonly deletionTimestamp?: string };
}

/** Those that are not about to end, of a group or of all. */
export async function routers(namespace: Namespace, group?: string): Promise<readonly RouterPod[]> {
  const selector = encodeURIComponent(group === undefined ? 'skupper.io/type=site' : `skupper.io/group=${group}`);
  const path = `${collectionOf('v1', 'Pod', namespace.name)}?labelSelector=${selector}`;
  const { items } = await namespace.cluster.api.get<{ readonly items: readonly RouterPod[] }>(path);
  return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
}

export async function routerImage(namespace: Namespace): Promise<string> {
  const deployment = await namespace.get<Manifest & { readonly spec: { readonly template: { readonly spec: PodImages } } }>(
    'apps/v1',
    'Deployment',
    'skupper-router',
  );
  return deployment?.spec.template.spec.containers[0]?.image ?? '';
}

interface PodImages {
  readonly containers: readonly { readonly image: string }[];
}

export function isReady(pod: Pod | undefined): boolean {
  return pod?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;
}

/** One token makes a Link to each router of the other site. */
export async function linkBoth(from: Namespace, to: Namespace, name = 'token'): Promise<void> {
  await to.create(skupper('AccessGrant', name, { redemptionsAllowed: 1, expirationWindow: '15m' }));
  const { status } = await untilCondition<
    Manifest & { readonly status?: { readonly url: string; readonly code: string; readonly ca: string } }
  >(to, 'AccessGrant', name);
  const { url = '', code = '', ca = '' } = status ?? {};
  await from.create(skupper('AccessToken', name, { url, code, ca }));
  for (const link of [`${name}-1`, `${name}-2`]) await untilCondition(from, 'Link', link);
}

/** All that began until now, once one has been answered that began later and takes the longest. */
export async function settled(client: Namespace, since: number): Promise<readonly Request[]> {
  const until = Date.now();
  return eventually('what began to have ended', async () => {
    const requests = await requestsSince(client, 'client', since);
    return requests.some(({ way, began, error }) => way === 'long' && began > until && error === undefined) && requests;
  });
}

export const failures = (requests: readonly Request[]): readonly Request[] => requests.filter(({ error }) => error !== undefined);

export function summary(requests: readonly Request[]): string {
  const ways = Map.groupBy(requests, ({ way }) => way);
  const parts = [...ways].map(
    ([way, all]) => `${way}: ${failures(all).length} of ${all.length} failed, ${longestOutage(all)} ms at the longest`,
  );
  const errors = Map.groupBy(failures(requests), ({ error }) => error);
  return `${parts.join('; ')}; ${JSON.stringify(Object.fromEntries([...errors].map(([error, all]) => [error, all.length])))}`;
}
