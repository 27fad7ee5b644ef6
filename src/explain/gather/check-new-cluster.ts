/** Checks a cluster before installation: the namespace, rights of the user, nodes, and what an earlier installation left. */
import type { KubeClient } from '../../kube/contract.ts';
import type { Node } from '../../kube/objects.ts';
import { nodes } from '../../kube/resource.ts';
import { printable } from '../../text/printable.ts';
import type { Source } from '../connection/site-facts.ts';
import type { Step } from '../step.ts';
import { askRight } from './access-review.ts';
import { namespaces, podSecurityStep } from './pod-security.ts';
import { readSource } from './read-source.ts';
import { definitions, findServed } from './served-definitions.ts';
import { listFirst } from '../../text/list-some.ts';

interface NewCluster {
  readonly client: Pick<KubeClient, 'create' | 'find' | 'list' | 'page'>;
  readonly namespace: string;
}

/** Oldest minor version of Kubernetes 1 that works: the driver watches custom resources by field. */
const OLDEST_MINOR = 31;
const MOST_NODES = 5_000;
const MOST_NAMED = 8;
const MOST_NAME = 253;

/** Rights of the user that installs the chart. The last three are for the exposure half. */
const NEEDED = [
  { group: 'apiextensions.k8s.io', resource: 'customresourcedefinitions' },
  { group: 'rbac.authorization.k8s.io', resource: 'clusterroles' },
  { group: 'admissionregistration.k8s.io', resource: 'validatingadmissionpolicies' },
  { group: 'apps', resource: 'deployments', isNamespaced: true },
  { group: 'apps', resource: 'daemonsets', isNamespaced: true },
  { group: 'storage.k8s.io', resource: 'csidrivers' },
  { group: 'storage.k8s.io', resource: 'storageclasses' },
] as const;

export async function checkNewCluster(cluster: NewCluster): Promise<readonly Step[]> {
  const parts = [
    namespaceSteps(cluster),
    definitionSteps(cluster),
    nodeSteps(cluster),
    ...NEEDED.map((right) => rightStep(cluster, right)),
  ];
  return (await Promise.all(parts)).flat();
}

async function namespaceSteps({ client, namespace }: NewCluster): Promise<readonly Step[]> {
  const step = { id: 'pre.namespace', object: `namespace/${namespace}` };
  const found = await readSource('the namespace', () => client.find(namespaces, { name: namespace }));
  if ('unknown' in found) return [{ ...step, state: 'unknown', says: found.unknown }];
  if (found.value === undefined)
    return [
      {
        ...step,
        state: 'warn',
        says: 'does not exist yet',
        do: `install with --create-namespace, or create it: kubectl create namespace ${namespace}`,
      },
    ];
  const refusal = podSecurityStep('pre.pod-security', found.value);
  return [{ ...step, state: 'pass', says: 'exists' }, ...(refusal === undefined ? [] : [refusal])];
}

/** Definitions of an earlier installation are in use by it. */
async function definitionSteps({ client, namespace }: NewCluster): Promise<readonly Step[]> {
  const step = { id: 'pre.definitions', object: 'definitions' };
  const served = await readSource('the definitions', () => findServed(client, namespace, definitions));
  if ('unknown' in served) return [{ ...step, state: 'unknown', says: served.unknown }];
  const { length } = served.value;
  if (length === 0) return [{ ...step, state: 'pass', says: `none of ${definitions.length} is installed yet` }];
  return [
    { ...step, state: 'pass', says: `${length} of ${definitions.length} are installed already; the chart updates those that it manages` },
  ];
}

/** A pod with a listener volume starts only where the node driver runs. */
async function nodeSteps({ client }: NewCluster): Promise<readonly Step[]> {
  const step = { id: 'pre.nodes', object: 'nodes' };
  const listed: Source<readonly Node[]> = await readSource('the nodes', () => listNodes(client));
  if ('unknown' in listed) return [{ ...step, state: 'unknown', says: listed.unknown }];
  const all = listed.value;
  const foreign = all.filter(({ status }) => (status?.nodeInfo?.operatingSystem ?? 'linux') !== 'linux');
  const old = all.filter(({ status }) => minorOf(status?.nodeInfo?.kubeletVersion) < OLDEST_MINOR);
  return [
    { ...step, state: 'pass', says: `${all.length} nodes, ${all.length - foreign.length} with Linux` },
    ...warned(step, foreign, 'do not run Linux, so pods with listener volumes cannot start there', 'Select others with a nodeSelector.'),
    ...warned(step, old, `are older than Kubernetes 1.${OLDEST_MINOR}, which is not supported`, 'Upgrade them.'),
  ];
}

function warned(step: Pick<Step, 'id' | 'object'>, found: readonly Node[], what: string, remedy: string): readonly Step[] {
  if (found.length === 0) return [];
  const names = found.map(({ metadata }) => printable(metadata.name ?? '', MOST_NAME));
  const says = `${found.length} ${what}: ${listFirst(names, MOST_NAMED)}`;
  return [{ ...step, state: 'warn', says, do: remedy }];
}

async function listNodes(client: NewCluster['client']): Promise<readonly Node[]> {
  const found: Node[] = [];
  for await (const node of client.list(nodes)) if (found.push(node) >= MOST_NODES) break;
  return found;
}

/** 36 for `v1.36.3`. An unreadable version is not reported. */
function minorOf(version = ''): number {
  const [, minor] = /^v1\.(\d{1,4})/.exec(version) ?? [];
  return minor === undefined ? Infinity : Number(minor);
}

async function rightStep({ client, namespace }: NewCluster, needed: (typeof NEEDED)[number]): Promise<readonly Step[]> {
  const { group, resource } = needed;
  const step = { id: 'pre.rights', object: `create ${resource}` };
  const answer = await askRight(client, { verb: 'create', group, resource, ...('isNamespaced' in needed ? { namespace } : {}) });
  if ('unknown' in answer) return [{ ...step, state: 'unknown', says: answer.unknown }];
  if (answer.value) return [{ ...step, state: 'pass', says: 'permitted' }];
  return [
    {
      ...step,
      state: 'fail',
      code: 'kube-api',
      says: `your user may not create ${resource}.${group}`,
      do: 'ask an administrator of the cluster',
    },
  ];
}
