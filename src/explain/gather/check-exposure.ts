/** Checks all exposed objects of a namespace, and what the exposure half needs in the cluster. */
import { listenerClasses, listeners, podListeners } from '../../api/listeners/index.ts';
import { DRIVER_NAME } from '../../api/listeners/names.ts';
import { isNotFound } from '../../kube/errors.ts';
import type { KubeObject, Pod } from '../../kube/objects.ts';
import { endpointSlices, persistentVolumeClaims, pods, resource, services, type Resource } from '../../kube/resource.ts';
import { printable } from '../../text/printable.ts';
import { explainListener } from '../exposure/explain-listener.ts';
import { explainPod } from '../exposure/explain-pod.ts';
import { valueOf } from '../connection/site-facts.ts';
import { Steps } from '../exposure/steps.ts';
import type { CheckReport } from '../report.ts';
import type { Step } from '../step.ts';
import { askRight } from './access-review.ts';
import { clusterSnapshot } from './cluster-snapshot.ts';
import type { ExplainPlace } from './explainable-kind.ts';
import {
  csiNodes,
  events,
  gatherCommon,
  gatherListener,
  gatherPod,
  leaseNamespaces,
  listAll,
  type ExposurePlace,
} from './gather-exposure.ts';

type Checked = Pick<CheckReport, 'objects' | 'findings'>;

interface Exposure extends Checked {
  /** Whether the cluster has the exposure half. */
  readonly isInstalled: boolean;
}

const namespaces = resource<KubeObject>('v1', 'Namespace', 'namespaces', 'cluster');
const NOTHING: Exposure = { isInstalled: false, objects: [], findings: [] };
/** Maximum number of explained Listeners, and of explained pods. */
const MOST_EXPLAINED = 1_000;
const MOST_OBJECTS = 5_000;
const MOST_NAMED = 8;

/** Nothing in a cluster without the exposure half, and on a machine. */
export async function checkExposure({ cluster }: ExplainPlace): Promise<Exposure> {
  if (cluster === undefined) return NOTHING;
  const { client, namespace } = cluster;
  const kinds: readonly Resource[] = [listenerClasses, listeners, podListeners];
  const missing = (await Promise.all(kinds.map(async (of) => ((await isServed(cluster, of)) ? [] : [of])))).flat();
  if (missing.length === kinds.length) return NOTHING;
  const place: ExposurePlace = { client: clusterSnapshot(client, MOST_OBJECTS), namespace, probe: false };
  const [exposed, mounting, rights, driver, security] = await Promise.all([
    explainListeners(place),
    explainPods(place),
    rightsSteps(cluster),
    driverSteps(place),
    podSecuritySteps(place),
  ]);
  const objects = [...exposed, ...mounting];
  const findings = [...missing.map(missingStep), ...(await controllerSteps(place, objects)), ...rights, ...driver, ...security];
  return { isInstalled: true, objects, findings };
}

type Cluster = NonNullable<ExplainPlace['cluster']>;

/** The API server answers 404 for a kind without a definition. Whatever else it answers, there is one. */
async function isServed({ client, namespace }: Cluster, of: Resource): Promise<boolean> {
  try {
    await client.page(of, of.namespaced ? { namespace } : {}, { limit: 1 });
    return true;
  } catch (error) {
    return !isNotFound(error);
  }
}

function missingStep({ plural, group }: Resource): Step {
  return {
    id: 'check.definitions',
    object: `CustomResourceDefinition/${plural}.${group}`,
    state: 'fail',
    code: 'definition-outdated',
    says: `the definition of ${plural}.${group} is not installed`,
    do: 'Install the chart with manageCrds, or apply deploy/crds.',
  };
}

async function explainListeners(place: ExposurePlace): Promise<Checked['objects']> {
  const all = valueOf(await listAll(place, listeners)) ?? [];
  const facts = await Promise.all(all.slice(0, MOST_EXPLAINED).map(({ metadata }) => gatherListener(place, metadata.name ?? '')));
  return facts.flatMap((each) => (each === undefined ? [] : [explainListener(each)]));
}

/** Pods that mount listener volumes and still need them. */
async function explainPods(place: ExposurePlace): Promise<Checked['objects']> {
  const all = (valueOf(await listAll(place, pods)) ?? []).filter(isNeeded).slice(0, MOST_EXPLAINED);
  const facts = await Promise.all(all.map(({ metadata }) => gatherPod(place, metadata.name ?? '')));
  return facts.flatMap((each) => (each === undefined || each.claims.length === 0 ? [] : [explainPod(each)]));
}

function isNeeded({ metadata, spec, status }: Pod): boolean {
  const hasEnded = status?.phase === 'Succeeded' || status?.phase === 'Failed';
  return metadata.deletionTimestamp === undefined && !hasEnded && (spec?.volumes ?? []).length > 0;
}

/** Whether the controller leads, if no object shows that it does. */
async function controllerSteps(place: ExposurePlace, objects: Checked['objects']): Promise<readonly Step[]> {
  const { id, run } = new Steps('').controller(await gatherCommon(place), false);
  return objects.some(({ steps }) => steps.some((step) => step.id === id)) ? [] : [run()].flat();
}

/** Rights that the explanations need. A missing one makes steps unknown. */
async function rightsSteps({ client, namespace }: Cluster): Promise<readonly Step[]> {
  const kinds: readonly Resource[] = [listeners, podListeners, pods, services, endpointSlices, persistentVolumeClaims, events];
  const asked = kinds.map(async ({ group, plural }): Promise<readonly Step[]> => {
    const step = { id: 'check.rights', object: `namespace/${namespace}`, state: 'unknown' } as const;
    const answer = await askRight(client, { verb: 'list', group, resource: plural, namespace });
    if ('unknown' in answer) return [{ ...step, says: answer.unknown }];
    if (answer.value) return [];
    return [{ ...step, says: `your user may not list ${group === '' ? plural : `${plural}.${group}`} in the namespace ${namespace}` }];
  });
  const found = (await Promise.all(asked)).flat();
  return [...new Map(found.map((step) => [step.says, step])).values()];
}

/** Nodes on which pods with listener volumes cannot start. */
async function driverSteps(place: ExposurePlace): Promise<readonly Step[]> {
  const all = valueOf(await listAll(place, csiNodes)) ?? [];
  const without = all.filter(({ spec }) => spec?.drivers?.some(({ name }) => name === DRIVER_NAME) !== true);
  if (without.length === 0) return [];
  const names = without.slice(0, MOST_NAMED).map(({ metadata }) => printable(metadata.name ?? '', MOST_NAME));
  const more = without.length > MOST_NAMED ? ', …' : '';
  return [
    {
      id: 'check.drivers',
      object: `CSIDriver/${DRIVER_NAME}`,
      state: 'warn',
      says: `the driver is not registered on ${without.length} of ${all.length} nodes, where no pod with a listener volume starts: ${names.join(', ')}${more}`,
      do: 'Look at its pods: kubectl get pods -A -o wide -l app.kubernetes.io/component=node',
    },
  ];
}

const MOST_NAME = 253;
const ENFORCE = 'pod-security.kubernetes.io/enforce';

/** The node driver mounts directories of the host, which only the level privileged admits. */
async function podSecuritySteps(place: ExposurePlace): Promise<readonly Step[]> {
  const installed = await leaseNamespaces(place);
  const found = await Promise.all(installed.map((name) => place.client.find(namespaces, { name }).catch(() => undefined)));
  return found.flatMap((namespace): readonly Step[] => {
    const { name = '', labels = {} } = namespace?.metadata ?? {};
    const level = labels[ENFORCE] ?? 'privileged';
    if (level === 'privileged') return [];
    return [
      {
        id: 'check.pod-security',
        object: `namespace/${name}`,
        state: 'warn',
        says: `the namespace enforces the Pod Security level ${printable(level, MOST_NAME)}, which refuses pods of the node driver`,
        do: `kubectl label --overwrite namespace ${name} ${ENFORCE}=privileged`,
      },
    ];
  });
}
