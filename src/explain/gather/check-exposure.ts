/** Checks all exposed objects of a namespace, and what the exposure half needs in the cluster. */
import { listeners, podListeners } from '../../api/listeners/index.ts';
import { DRIVER_NAME } from '../../api/listeners/names.ts';
import {
  endpointSlices,
  persistentVolumeClaims,
  pods,
  resource,
  services,
  storageClasses,
  wholeName,
  type Resource,
} from '../../kube/resource.ts';
import { printable } from '../../text/printable.ts';
import { explainListener } from '../exposure/explain-listener.ts';
import { explainPod } from '../exposure/explain-pod.ts';
import { valueOf } from '../connection/site-facts.ts';
import type { NamespaceFacts } from '../exposure/exposure-facts.ts';
import { refusedStep } from '../exposure/refused-workload.ts';
import { CONTROLLER_ADVICE, LEASE_OBJECT, Steps } from '../exposure/steps.ts';
import type { CheckReport } from '../report.ts';
import type { Step } from '../step.ts';
import { askRight } from './access-review.ts';
import type { ExplainPlace } from './explainable-kind.ts';
import {
  csiNodes,
  DRIVER_PODS,
  events,
  find,
  gatherCommon,
  leaseNamespaces,
  list,
  listAll,
  type ExposurePlace,
} from './gather-exposure.ts';
import { findMissingDefinitions, gatherNamespace, snapshotPlace } from './gather-namespace.ts';
import { deployments, statefulSets } from './refused-workloads.ts';
import { namespaces, podSecurityStep } from './pod-security.ts';
import { sites } from '../../api/skupper/index.ts';
import { findServed } from './served-definitions.ts';
import { shellWord } from '../../text/shell-word.ts';
import { listFirst } from '../../text/list-some.ts';

type Checked = Pick<CheckReport, 'objects' | 'findings'>;

interface Exposure extends Checked {
  /** Whether the cluster has the exposure half, or should have it. */
  readonly isInstalled: boolean;
}

const NOTHING: Exposure = { isInstalled: false, objects: [], findings: [] };
const MOST_NAMED = 8;

/** Returns an empty report on a machine, and in a cluster with the connection half only. */
export async function checkExposure({ cluster }: ExplainPlace): Promise<Exposure> {
  if (cluster === undefined) return NOTHING;
  const { missing, isInstalled } = await findMissingDefinitions(cluster);
  if (!isInstalled) return checkDefinitions(cluster);
  const place = snapshotPlace(cluster);
  const [exposed, rights, driver, security] = await Promise.all([
    gatherNamespace(place),
    rightsSteps(cluster),
    driverSteps(place),
    podSecuritySteps(place),
  ]);
  const objects = [...(valueOf(exposed.listeners) ?? []).map(explainListener), ...(valueOf(exposed.pods) ?? []).map(explainPod)];
  const omitted = exposed.omitted.map((says) => ({ ...ofNamespace(cluster), id: 'check.omitted', says }));
  const findings = [
    ...missing.map(missingStep),
    ...(await controllerSteps(place, objects)),
    ...refusedSteps(exposed, objects),
    ...rights,
    ...omitted,
    ...driver,
    ...security,
  ];
  return { isInstalled: true, objects, findings };
}

type Cluster = NonNullable<ExplainPlace['cluster']>;

/** The controllers create the definitions when they start. Without definitions, the chart is not installed, or its pods never ran. */
async function checkDefinitions(cluster: Cluster): Promise<Exposure> {
  const { client, namespace, isConsole } = cluster;
  if (isConsole === true) return NOTHING;
  const [storageClass, ofSites] = await Promise.all([
    find(snapshotPlace(cluster), storageClasses, DRIVER_NAME),
    findServed(client, namespace, [sites]),
  ]);
  const isExpected = valueOf(storageClass) !== undefined;
  if (!isExpected && ofSites.length > 0) return NOTHING;
  const what = isExpected ? 'The exposure controller' : 'Earshot';
  const step: Step = {
    id: 'check.definitions',
    object: LEASE_OBJECT,
    state: 'fail',
    code: 'not-running',
    says: `${what} has never run in this cluster: its resource definitions are missing.`,
    do: CONTROLLER_ADVICE,
  };
  return { isInstalled: true, objects: [], findings: [step] };
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

/** Whether the controller leads, unless an object shows it. Objects that work only warn of a missing leader. */
async function controllerSteps(place: ExposurePlace, objects: Checked['objects']): Promise<readonly Step[]> {
  const { id, run } = new Steps('').controller(await gatherCommon(place), false);
  const found = [run()].flat();
  const fails = found.some(({ state }) => state === 'fail');
  const isShown = fails ? objects.some(({ cause }) => cause?.id === id) : objects.some(({ steps }) => steps.some((step) => step.id === id));
  return isShown ? [] : found;
}

/** Workloads that cannot create their next pod, unless one is the cause of a Listener already. */
function refusedSteps({ workloads }: NamespaceFacts, objects: Checked['objects']): readonly Step[] {
  const refused = workloads === undefined ? [] : (valueOf(workloads) ?? []);
  const shown = new Set(objects.flatMap(({ cause }) => cause?.object ?? []));
  return refused.map((workload) => refusedStep('check.workloads', 'fail', workload)).filter(({ object }) => !shown.has(object));
}

const ofNamespace = ({ namespace }: Cluster) => ({ object: `namespace/${namespace}`, state: 'unknown' }) as const;

/** Rights that the explanations need. A missing one makes steps unknown. */
async function rightsSteps(cluster: Cluster): Promise<readonly Step[]> {
  const { client, namespace } = cluster;
  const kinds: readonly Resource[] = [
    listeners,
    podListeners,
    pods,
    services,
    endpointSlices,
    persistentVolumeClaims,
    events,
    statefulSets,
    deployments,
  ];
  const asked = kinds.map(async (of): Promise<readonly Step[]> => {
    const step = { ...ofNamespace(cluster), id: 'check.rights' };
    const answer = await askRight(client, { verb: 'list', group: of.group, resource: of.plural, namespace });
    if ('unknown' in answer) return [{ ...step, says: answer.unknown }];
    if (answer.value) return [];
    return [{ ...step, says: `your user may not list ${wholeName(of)} in the namespace ${namespace}` }];
  });
  const found = (await Promise.all(asked)).flat();
  return [...new Map(found.map((step) => [step.says, step])).values()];
}

/** Nodes on which pods with listener volumes cannot start. */
async function driverSteps(place: ExposurePlace): Promise<readonly Step[]> {
  const all = valueOf(await listAll(place, csiNodes)) ?? [];
  const without = all.filter(({ spec }) => spec?.drivers?.some(({ name }) => name === DRIVER_NAME) !== true);
  if (without.length === 0) return [];
  const names = without.map(({ metadata }) => printable(metadata.name ?? '', MOST_NAME));
  return [
    {
      id: 'check.drivers',
      object: `CSIDriver/${DRIVER_NAME}`,
      state: 'warn',
      says: `the driver is not registered on ${without.length} of ${all.length} nodes, where no pod with a listener volume starts: ${listFirst(names, MOST_NAMED)}`,
      do: 'Look at its pods: kubectl get pods -A -o wide -l app.kubernetes.io/component=node',
    },
  ];
}

const MOST_NAME = 253;

async function podSecuritySteps(place: ExposurePlace): Promise<readonly Step[]> {
  const installed = await leaseNamespaces(place);
  const found = await Promise.all(
    installed.map(async (name) => {
      const namespace = await place.client.find(namespaces, { name }).catch(() => undefined);
      return namespace === undefined ? undefined : podSecurityStep('check.pod-security', namespace, await driversIn(place, name));
    }),
  );
  return found.flatMap((step) => step ?? []);
}

/** The DaemonSet is named after the release. Its label selects it for users who may not list it here. */
async function driversIn(place: ExposurePlace, namespace: string): Promise<string> {
  const found = await list(place, daemonSets, { namespace, labelSelector: DRIVER_PODS });
  if ('unknown' in found) return `daemonset -l ${DRIVER_PODS}`;
  return found.value.map(({ metadata }) => `daemonset/${shellWord(metadata.name ?? '')}`).join(' ');
}

const daemonSets = resource('apps/v1', 'DaemonSet', 'daemonsets');
