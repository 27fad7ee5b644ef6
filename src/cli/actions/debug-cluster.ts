/** What `debug dump` has of a site in a cluster. Each part says for itself why it is missing, where it is. */
import { annotation, CONTROLLER_NAME, NETWORK_STATUS, ROUTER, ROUTER_LOCAL, SECOND_ROUTER } from '../../api/skupper/cluster-names.ts';
import { skupperResources } from '../../api/skupper/index.ts';
import type { KubeClient, PodAccess, Selection } from '../../kube/contract.ts';
import type { KubeObject, Pod } from '../../kube/objects.ts';
import { configMaps, deployments, pods, resource, roleBindings, roles, secrets, services, type Resource } from '../../kube/resource.ts';
import { controllerOf } from '../../platform/kubernetes/cluster-resources/controller-runs.ts';
import { messageOf } from '../../telemetry/log.ts';
import { writeYaml } from '../../text/write-yaml.ts';
import { VERSION } from '../../version.ts';
import type { ArchiveFile } from '../output/tar.ts';
import type { Cluster } from '../resources.ts';
import type { Collected, ParsedResources } from '../output/collected.ts';

const replicaSets = resource('apps/v1', 'ReplicaSet', 'replicasets');
const events = resource('v1', 'Event', 'events');

const MOST_OBJECTS = 5000;
const LOG_LINES = 20_000;

/** Of each kind, what of it belongs to the site or to the controller, and holds no secret. */
const SITE_OBJECTS: readonly (readonly [of: Resource, isOfSite: (object: KubeObject) => boolean])[] = [
  [configMaps, named(ROUTER, SECOND_ROUTER, NETWORK_STATUS, 'skupper')],
  [services, (object) => named(ROUTER, SECOND_ROUTER, ROUTER_LOCAL)(object) || isControlled(object)],
  [deployments, named(ROUTER, SECOND_ROUTER)],
  [replicaSets, isOfRouter],
  [pods, isOfRouter],
  [roles, named(ROUTER)],
  [roleBindings, named(ROUTER)],
  [events, () => true],
];
const CONTROLLER_OBJECTS: readonly Resource[] = [deployments, replicaSets, pods];

export async function collectCluster({ client, place }: Cluster): Promise<Collected> {
  const { namespace, cluster, server } = place;
  const resources: ParsedResources[] = [];
  for (const of of [...Object.values(skupperResources), secrets]) {
    const found = await listed(client, of, { namespace });
    resources.push({ path: `resources/${of.kind}.yaml`, values: found.objects.length === 0 ? [] : found.objects });
  }
  const sites = resources.find(({ path }) => path === 'resources/Site.yaml')?.values ?? [];
  // What was listed of Sites are objects.
  const controller = controllerOf(sites as readonly KubeObject[]);
  const texts: ArchiveFile[] = [
    {
      path: 'about.yaml',
      content: writeYaml({ earshot: VERSION, node: process.version, at: new Date().toISOString(), cluster, server, namespace, controller }),
    },
  ];
  for (const [of, isOfSite] of SITE_OBJECTS) {
    const found = await listed(client, of, { namespace });
    texts.push(textOf(`objects/${of.kind}.yaml`, found, isOfSite));
    if (of === pods) texts.push(...(await logsOf(client, found.objects.filter(isOfRouter), 'logs')));
  }
  for (const of of CONTROLLER_OBJECTS) {
    const found = await listed(client, of, { namespace: controller.namespace, labelSelector: `application=${CONTROLLER_NAME}` });
    texts.push(textOf(`controller/${of.kind}.yaml`, found, () => true));
    if (of === pods) texts.push(...(await logsOf(client, found.objects, 'controller/logs')));
  }
  return { texts, resources };
}

interface Listed {
  readonly objects: readonly KubeObject[];
  /** Why there are none. */
  readonly problem?: string;
}

async function listed(client: KubeClient, of: Resource, selection: Selection): Promise<Listed> {
  const objects: KubeObject[] = [];
  try {
    for await (const { metadata, ...rest } of client.list(of, selection)) {
      const { managedFields: _, ...shown } = metadata;
      objects.push({ ...rest, metadata: shown });
      if (objects.length >= MOST_OBJECTS) break;
    }
    return { objects };
  } catch (error) {
    return { objects, problem: messageOf(error) };
  }
}

function textOf(path: string, { objects, problem }: Listed, isMeant: (object: KubeObject) => boolean): ArchiveFile {
  const documents = objects.filter(isMeant).map((object) => `---\n${writeYaml(object)}`);
  return { path, content: `${documents.join('')}${problem === undefined ? '' : `could not be read: ${problem}\n`}` };
}

async function logsOf(client: PodAccess, of: readonly KubeObject[], folder: string): Promise<readonly ArchiveFile[]> {
  const asked = of.flatMap((pod: Pod) =>
    (pod.spec?.containers ?? []).map(async ({ name }) => {
      const key = { name: pod.metadata.name ?? '', ...(pod.metadata.namespace === undefined ? {} : { namespace: pod.metadata.namespace }) };
      const content = await client
        .log(key, { container: name, lines: LOG_LINES })
        .catch((error: unknown) => `could not be read: ${messageOf(error)}\n`);
      return { path: `${folder}/${key.name}-${name}.txt`, content };
    }),
  );
  return Promise.all(asked);
}

function named(...names: readonly string[]): (object: KubeObject) => boolean {
  return ({ metadata }) => names.includes(metadata.name ?? '');
}

function isControlled({ metadata }: KubeObject): boolean {
  return metadata.annotations?.[annotation.controlled] === 'true';
}

function isOfRouter({ metadata }: KubeObject): boolean {
  return metadata.labels?.['app.kubernetes.io/name'] === ROUTER;
}
