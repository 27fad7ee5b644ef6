/** Rights that a console in a cluster needs, and what it lacks. */
import { skupperKinds, skupperResources, type SkupperKind } from '../../api/skupper/index.ts';
import { valueOf } from '../../explain/connection/site-facts.ts';
import { askRight, type Right } from '../../explain/gather/access-review.ts';
import { findServed } from '../../explain/gather/served-definitions.ts';
import type { KubeClient } from '../../kube/contract.ts';
import type { PodRight, RouterReach } from '../../platform/kubernetes/router-reach.ts';

export interface ConsoleRights {
  /** Kinds that the console may list and watch, and those that it may not. None in a cluster without the connection half. */
  readonly kinds: ReadonlySet<SkupperKind>;
  readonly refused: readonly SkupperKind[];
  readonly pods: boolean;
  readonly metrics: boolean;
  readonly api: boolean;
}

/** Reader of the namespace. `subject` begins sentences: `your user`. */
export interface Reader {
  readonly subject: string;
  readonly namespace: string;
}

/** A right that the API server does not answer for is tried. @param unread kinds that are not read, whatever the rights */
export async function readConsoleRights(
  client: Pick<KubeClient, 'create' | 'page'>,
  namespace: string,
  { needs }: Pick<RouterReach, 'needs'>,
  unread: readonly SkupperKind[],
): Promise<ConsoleRights> {
  const may = async (right: Right): Promise<boolean> => valueOf(await askRight(client, { ...right, namespace })) ?? true;
  const mayAll = async (rights: readonly Right[]): Promise<boolean> => (await Promise.all(rights.map(may))).every(Boolean);
  const mayFollow = (group: string, resource: string): Promise<boolean> =>
    mayAll(['list', 'watch'].map((verb) => ({ verb, group, resource })));
  const mayReach = (rights: readonly PodRight[]): Promise<boolean> =>
    mayAll(rights.map((right) => ({ ...right, group: '', resource: 'pods' })));
  const isInstalled = (await findServed(client, namespace, [skupperResources.Site])).length > 0;
  const read = isInstalled ? skupperKinds.filter((kind) => !unread.includes(kind)) : [];
  const [pods, metrics, api, ...followed] = await Promise.all([
    mayFollow('', 'pods'),
    mayReach(needs.metrics),
    mayReach(needs.api),
    ...read.map((kind) => mayFollow(skupperResources[kind].group, skupperResources[kind].plural)),
  ]);
  const [allowed, refused] = [true, false].map((is) => read.filter((_, index) => followed[index] === is));
  return { kinds: new Set(allowed), refused: refused ?? [], pods, metrics, api };
}

/** Sentences for what is not shown at all. Figures and connections have their own. */
export function describeMissingRights({ refused, pods }: ConsoleRights, reader: Reader): readonly string[] {
  const missing = refused.map((kind) => `${skupperResources[kind].plural}.${skupperResources[kind].group}`);
  return [
    ...(missing.length === 0 ? [] : [`Some resources are not shown: ${lacksRight(`list and watch ${missing.join(', ')}`, reader)}.`]),
    ...(pods ? [] : [`Routers and figures are not shown: ${lacksRight('list and watch pods', reader)}.`]),
  ];
}

export const lacksRight = (right: string, { subject, namespace }: Reader): string =>
  `${subject} may not ${right} in the namespace ${namespace}`;
