/** Gathers the facts about everything that is exposed in a namespace. Each kind is listed once. */
import { listeners } from '../../api/listeners/index.ts';
import { targetOf } from '../../exposure/cluster/volumes.ts';
import { claimsOf } from '../../exposure/cluster/starting-pods.ts';
import type { Discovery, KubeClient } from '../../kube/contract.ts';
import type { KubeObject, PersistentVolume, PersistentVolumeClaim, Pod } from '../../kube/objects.ts';
import { persistentVolumeClaims, persistentVolumes, pods, type Resource } from '../../kube/resource.ts';
import { limitTable } from '../../limits/table.ts';
import { withoutUndefined } from '../../text/untrusted-fields.ts';
import type { NamespaceFacts, PodFacts } from '../exposure/exposure-facts.ts';
import { valueOf, type Source } from '../connection/site-facts.ts';
import { clusterSnapshot } from './cluster-snapshot.ts';
import {
  findVolume,
  gatherListener,
  gatherPod,
  gatherShared,
  listAll,
  mapped,
  namesListener,
  type ExposurePlace,
} from './gather-exposure.ts';
import { findRefusedWorkloads } from './refused-workloads.ts';
import { exposureDefinitions, findServed } from './served-definitions.ts';

interface Cluster extends Pick<ExposurePlace, 'namespace' | 'isConsole'> {
  readonly client: Pick<KubeClient, 'find' | 'list' | 'page'> & Partial<Discovery>;
}

const MOST_EXPLAINED = limitTable.exposedObjects.value;
/** Maximum number of objects of one kind. */
const MOST_OBJECTS = 5_000;

/** Definitions of the exposure half that the cluster does not have, and whether it has one at all. */
export async function findMissingDefinitions(
  cluster: Cluster,
): Promise<{ readonly missing: readonly Resource[]; readonly isInstalled: boolean }> {
  const { client, namespace } = cluster;
  const served = new Set(await findServed(client, namespace, exposureDefinitions));
  const missing = exposureDefinitions.filter((of) => !served.has(of));
  return { missing, isInstalled: served.size > 0 };
}

/** A place that answers from one list of each kind. The API server would refuse some to a console, and log each refusal. */
export function snapshotPlace({ client, ...rest }: Cluster): ExposurePlace {
  return { ...rest, client: clusterSnapshot(client, MOST_OBJECTS, rest.isConsole !== true), probe: false };
}

/** Undefined in a cluster without the exposure half. */
export async function readExposure(cluster: Cluster): Promise<NamespaceFacts | undefined> {
  const { isInstalled } = await findMissingDefinitions(cluster);
  return isInstalled ? gatherNamespace(snapshotPlace(cluster)) : undefined;
}

export async function gatherNamespace(place: ExposurePlace): Promise<NamespaceFacts> {
  const shared = { ...gatherShared(place), workloads: findRefusedWorkloads(place) };
  const [common, workloads, listed, running, claims] = await Promise.all([
    shared.common,
    shared.workloads,
    listAll(place, listeners),
    listAll(place, pods),
    listAll(place, persistentVolumeClaims),
  ]);
  const mounting = mapped(running, (all) => all.filter(isNeeded));
  const [exposed, waiting, volumes] = await Promise.all([
    gatherEach(listed, (name) => gatherListener(place, name, shared)),
    gatherEach(mounting, (name) => gatherPod(place, name, shared)),
    listVolumes(place, valueOf(claims) ?? []),
  ]);
  return {
    ...common,
    namespace: place.namespace,
    listeners: exposed,
    pods: mapped(waiting, (all) => all.filter(mountsListener)),
    claims,
    ...withoutUndefined({ workloads }),
    volumes: mapped(volumes, (all) => all.filter((volume) => targetOf(volume)?.namespace === place.namespace)),
    omitted: [...omittedOf(listed, 'Listeners'), ...omittedOf(mounting, 'pods'), ...omittedOf(common.classes, 'ListenerClasses')],
  };
}

/** Listing would show the volumes of all namespaces. Without that right, those of the claims are read one by one. */
async function listVolumes(place: ExposurePlace, claims: readonly PersistentVolumeClaim[]): Promise<Source<readonly PersistentVolume[]>> {
  const listed = place.isConsole === true ? undefined : await listAll(place, persistentVolumes);
  if (listed !== undefined && 'value' in listed) return listed;
  const named = claims.filter(namesListener).slice(0, MOST_EXPLAINED);
  const found = await Promise.all(named.map((claim) => findVolume(place, claim)));
  return found.find((source) => 'unknown' in source) ?? { value: found.flatMap((source) => valueOf(source) ?? []) };
}

/** A pod whose claims cannot be read may have nothing to do with Listeners. */
function mountsListener({ claims, podListeners }: PodFacts): boolean {
  return claims.some(({ claim }) => valueOf(claim) !== undefined) || valueOf(podListeners) !== undefined;
}

async function gatherEach<T>(
  objects: Source<readonly KubeObject[]>,
  gather: (name: string) => Promise<T | undefined>,
): Promise<Source<readonly T[]>> {
  if ('unknown' in objects) return objects;
  const facts = await Promise.all(objects.value.slice(0, MOST_EXPLAINED).map(({ metadata }) => gather(metadata.name ?? '')));
  return { value: facts.flatMap((each) => each ?? []) };
}

function omittedOf(objects: Source<readonly unknown[]>, what: string): readonly string[] {
  const { length = 0 } = valueOf(objects) ?? [];
  return length <= MOST_EXPLAINED ? [] : [`only ${MOST_EXPLAINED} of ${length} ${what} are examined`];
}

function isNeeded(pod: Pod): boolean {
  const { metadata, status } = pod;
  const hasEnded = status?.phase === 'Succeeded' || status?.phase === 'Failed';
  return metadata.deletionTimestamp === undefined && !hasEnded && claimsOf(pod).length > 0;
}
