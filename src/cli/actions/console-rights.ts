/** Rights that a console in a cluster needs, and what it lacks. */
import { skupperKinds, skupperResources, type SkupperKind } from '../../api/skupper/index.ts';
import { findServed } from '../../explain/gather/served-definitions.ts';
import type { Discovery, KubeClient } from '../../kube/contract.ts';
import { wholeName } from '../../kube/resource.ts';
import type { RouterReach } from '../../platform/kubernetes/router-reach.ts';
import { lacksRight, type Reader, type RouterRights } from '../../platform/kubernetes/router-rights.ts';
import { mayFollow, readRouterRights } from './read-router-rights.ts';

export interface ConsoleRights extends RouterRights {
  /** Kinds that the console may list and watch, and those that it may not. None in a cluster without the connection half. */
  readonly kinds: ReadonlySet<SkupperKind>;
  readonly refused: readonly SkupperKind[];
}

/** A right that the API server does not answer for is tried. @param unread kinds that are not read, whatever the rights */
export async function readConsoleRights(
  client: Pick<KubeClient, 'create' | 'page'> & Partial<Discovery>,
  namespace: string,
  reach: Pick<RouterReach, 'needs'>,
  unread: readonly SkupperKind[],
): Promise<ConsoleRights> {
  const isInstalled = (await findServed(client, namespace, [skupperResources.Site])).length > 0;
  const read = isInstalled ? skupperKinds.filter((kind) => !unread.includes(kind)) : [];
  const [ofRouters, ...followed] = await Promise.all([
    readRouterRights(client, namespace, reach),
    ...read.map((kind) => mayFollow(client, namespace, { group: skupperResources[kind].group, resource: skupperResources[kind].plural })),
  ]);
  const [allowed, refused] = [true, false].map((is) => read.filter((_, index) => followed[index] === is));
  return { kinds: new Set(allowed), refused: refused ?? [], ...ofRouters };
}

/** Sentences for what is not shown at all. Figures and connections have their own. */
export function describeMissingRights({ refused, pods }: ConsoleRights, reader: Reader): readonly string[] {
  const missing = refused.map((kind) => wholeName(skupperResources[kind]));
  return [
    ...(missing.length === 0 ? [] : [`Some resources are not shown: ${lacksRight(`list and watch ${missing.join(', ')}`, reader)}.`]),
    ...(pods ? [] : [`Routers and figures are not shown: ${lacksRight('list and watch pods', reader)}.`]),
  ];
}
