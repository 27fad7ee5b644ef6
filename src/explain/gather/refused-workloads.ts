/** Finds StatefulSets and Deployments with listener volumes whose next pod the API server refuses. */
import { LISTENER_NAME_ANNOTATION } from '../../api/listeners/names.ts';
import type { KubeObject, PersistentVolumeClaim, PodVolume } from '../../kube/objects.ts';
import { persistentVolumeClaims, resource } from '../../kube/resource.ts';
import { valueOf, type Source } from '../connection/site-facts.ts';
import { conditionOf } from '../connection/pod-conditions.ts';
import type { RefusedWorkload } from '../exposure/refused-workload.ts';
import { eventsOf, find, listAll, namesListener, type ExposurePlace } from './gather-exposure.ts';

interface ClaimVolume extends PodVolume {
  readonly ephemeral?: { readonly volumeClaimTemplate?: Partial<PersistentVolumeClaim> };
}

/** apps/v1 StatefulSet or Deployment, the fields that are read. */
interface Workload extends KubeObject {
  readonly spec?: {
    readonly replicas?: number;
    readonly template?: { readonly spec?: { readonly volumes?: readonly ClaimVolume[] } };
    readonly volumeClaimTemplates?: readonly PersistentVolumeClaim[];
  };
  readonly status?: {
    readonly replicas?: number;
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly message?: string;
      readonly lastTransitionTime?: string;
    }[];
  };
}

export const statefulSets = resource<Workload>('apps/v1', 'StatefulSet', 'statefulsets');
export const deployments = resource<Workload>('apps/v1', 'Deployment', 'deployments');

type Refusal = Pick<RefusedWorkload, 'message' | 'since'>;

/** Undefined for a console of the cluster, whose account may not read workloads. */
export async function findRefusedWorkloads(place: ExposurePlace): Promise<Source<readonly RefusedWorkload[]> | undefined> {
  if (place.isConsole === true) return undefined;
  const [stateful, stateless] = await Promise.all([listAll(place, statefulSets), listAll(place, deployments)]);
  if ('unknown' in stateful) return stateful;
  if ('unknown' in stateless) return stateless;
  const found = await Promise.all([
    ...stateful.value.map(async (workload) => refused(place, 'StatefulSet', workload, await refusalOfStatefulSet(place, workload))),
    ...stateless.value.map((workload) => refused(place, 'Deployment', workload, refusalOfDeployment(workload))),
  ]);
  return { value: found.flat() };
}

async function refused(
  place: ExposurePlace,
  kind: RefusedWorkload['kind'],
  workload: Workload,
  refusal: Refusal | undefined,
): Promise<readonly RefusedWorkload[]> {
  if (refusal === undefined) return [];
  const claims = (await claimsOf(place, workload)).filter(namesListener);
  if (claims.length === 0) return [];
  const listeners = claims.flatMap(({ metadata }) => metadata.annotations?.[LISTENER_NAME_ANNOTATION] ?? []);
  return [{ kind, name: workload.metadata.name ?? '', ...refusal, listeners }];
}

/** A StatefulSet has no condition for it. Its last event about a pod says whether its last attempt failed. */
async function refusalOfStatefulSet(place: ExposurePlace, { metadata, spec, status }: Workload): Promise<Refusal | undefined> {
  if ((status?.replicas ?? 0) >= (spec?.replicas ?? 1)) return undefined;
  const events = valueOf(await eventsOf(place, 'StatefulSet', metadata.name ?? '')) ?? [];
  const last = events.findLast(({ uid, reason }) => uid === metadata.uid && (reason === 'FailedCreate' || reason === 'SuccessfulCreate'));
  return last?.reason === 'FailedCreate' ? { message: last.message, since: last.at } : undefined;
}

/** The Deployment has the condition of its ReplicaSet. */
function refusalOfDeployment(workload: Workload): Refusal | undefined {
  const failure = conditionOf(workload, 'ReplicaFailure');
  return failure?.status === 'True' ? { message: failure.message ?? '', since: failure.lastTransitionTime ?? '' } : undefined;
}

/** Claims and claim templates of the pods. A claim that cannot be read is left out. */
async function claimsOf(place: ExposurePlace, { spec }: Workload): Promise<readonly PersistentVolumeClaim[]> {
  const volumes = spec?.template?.spec?.volumes ?? [];
  const named = volumes.flatMap(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName ?? []);
  const found = await Promise.all(named.map((name) => find(place, persistentVolumeClaims, name)));
  const ephemeral = volumes.flatMap((volume) => volume.ephemeral?.volumeClaimTemplate ?? []);
  const templates = [...(spec?.volumeClaimTemplates ?? []), ...ephemeral].map((template) => ({ metadata: {}, ...template }));
  return [...templates, ...found.flatMap((claim) => valueOf(claim) ?? [])];
}
