/** Contents of `debug dump` for a site in a cluster. A part that is missing is replaced by the reason. */
import {
  annotation,
  label,
  NETWORK_STATUS,
  RENEWALS,
  ROUTER,
  ROUTER_LOCAL,
  ROUTER_PORTS,
  SECOND_ROUTER,
  SITE_LEADER,
} from '../../api/skupper/cluster-names.ts';
import { sites, skupperResources } from '../../api/skupper/index.ts';
import { NotReadable } from '../../errors/not-readable.ts';
import type { Key, KubeClient, PodAccess, Selection } from '../../kube/contract.ts';
import { leases } from '../../kube/lease/lease-record.ts';
import type { KubeObject, Pod, Secret } from '../../kube/objects.ts';
import {
  configMaps,
  deployments,
  endpointSlices,
  pods,
  resource,
  roleBindings,
  roles,
  secrets,
  services,
  type Resource,
} from '../../kube/resource.ts';
import { controllerOf } from '../../platform/kubernetes/cluster-resources/controller-runs.ts';
import type { AskableRouters } from '../../platform/resources.ts';
import { messageOf } from '../../telemetry/log.ts';
import { sentence } from '../../text/sentence.ts';
import { writeYaml } from '../../text/write-yaml.ts';
import { VERSION } from '../../version.ts';
import { certificateFacts } from '../output/certificate-facts.ts';
import type { ArchiveFile } from '../output/tar.ts';
import type { Cluster } from '../resources.ts';
import type { Collected, ParsedResources } from '../output/collected.ts';
import { routerFiles } from './router-files.ts';

const replicaSets = resource('apps/v1', 'ReplicaSet', 'replicasets');
const events = resource('v1', 'Event', 'events');

const MOST_OBJECTS = 5000;
const LOG_LINES = 20_000;

/** Objects of each kind that belong to the site or the controller, without secrets. */
const SITE_OBJECTS: readonly (readonly [of: Resource, isOfSite: (object: KubeObject) => boolean])[] = [
  [configMaps, named(ROUTER, SECOND_ROUTER, NETWORK_STATUS, RENEWALS, 'skupper')],
  [services, (object) => isRouterService(object.metadata.name) || isControlled(object) || hasLabel(object, label.listener)],
  [endpointSlices, isSliceOfSite],
  [deployments, named(ROUTER, SECOND_ROUTER)],
  [replicaSets, isOfRouter],
  [pods, isOfRouter],
  [roles, named(ROUTER)],
  [roleBindings, named(ROUTER)],
  [leases, named(SITE_LEADER)],
  [events, () => true],
];
const CONTROLLER_OBJECTS: readonly Resource[] = [deployments, replicaSets, pods];

const ROUTER_PAGES = ['metrics', 'readyz'] as const;
/** @param routers are asked with the rights of the user */
export async function collectCluster({ client, place }: Cluster, routers: AskableRouters): Promise<Collected> {
  const { namespace, cluster, server } = place;
  const resources: (ParsedResources & { readonly values: readonly KubeObject[] })[] = [];
  const problems: ArchiveFile[] = [];
  const pathOf = ({ kind }: Resource): string => `resources/${kind}.yaml`;
  for (const of of [...Object.values(skupperResources), secrets]) {
    const { objects, problem } = await listed(client, of, { namespace });
    resources.push({ path: pathOf(of), values: objects });
    if (problem !== undefined) problems.push({ path: `resources/${of.kind}.problem.txt`, content: textOfProblem(problem) });
  }
  const valuesOf = (of: Resource): readonly KubeObject[] => resources.find(({ path }) => path === pathOf(of))?.values ?? [];
  const controller = controllerOf(valuesOf(sites));
  const texts: ArchiveFile[] = [
    {
      path: 'about.yaml',
      content: writeYaml({ earshot: VERSION, node: process.version, at: new Date().toISOString(), cluster, server, namespace, controller }),
    },
    ...problems,
    { path: 'certificates.yaml', content: writeYaml(certificatesIn(valuesOf(secrets))) },
  ];
  for (const [of, isOfSite] of SITE_OBJECTS) {
    const found = await listed(client, of, { namespace });
    texts.push(textOf(`objects/${of.kind}.yaml`, found, isOfSite));
    if (of === pods) {
      const running = found.objects.filter(isOfRouter);
      texts.push(...(await logsOf(client, running, 'logs')), ...(await pagesOf(client, running)));
    }
  }
  texts.push(...(await apiFiles(routers)));
  const controllerLeases = await listed(client, leases, { namespace: controller.namespace });
  texts.push(textOf('controller/Lease.yaml', controllerLeases, named(controller.name)));
  for (const of of CONTROLLER_OBJECTS) {
    const found = await listed(client, of, { namespace: controller.namespace, labelSelector: `application=${controller.name}` });
    texts.push(textOf(`controller/${of.kind}.yaml`, found, () => true));
    if (of === pods) texts.push(...(await logsOf(client, found.objects, 'controller/logs')));
  }
  return { texts, resources };
}

interface Listed {
  readonly objects: readonly KubeObject[];
  /** Reason why none could be read. */
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
  return { path, content: `${documents.join('')}${problem === undefined ? '' : textOfProblem(problem)}` };
}

async function logsOf(client: PodAccess, of: readonly KubeObject[], folder: string): Promise<readonly ArchiveFile[]> {
  const asked = of.flatMap((pod: Pod) =>
    (pod.spec?.containers ?? []).flatMap(({ name: container }) => {
      const key = keyOf(pod);
      const path = `${folder}/${key.name}-${container}`;
      const options = { container, lines: LOG_LINES };
      const now = fileOf(`${path}.txt`, client.log(key, options));
      return hasRunBefore(pod, container) ? [now, fileOf(`${path}.previous.txt`, client.log(key, { ...options, previous: true }))] : [now];
    }),
  );
  return Promise.all(asked);
}

/** Requests the same pages as from a router on a machine. */
async function pagesOf(client: PodAccess, routers: readonly KubeObject[]): Promise<readonly ArchiveFile[]> {
  const asked = routers
    .map(keyOf)
    .flatMap((key) =>
      ROUTER_PAGES.map((page) => fileOf(`routers/${key.name}/${page}.txt`, client.getFromPod(key, { port: ROUTER_PORTS.http, page }))),
    );
  return Promise.all(asked);
}

/** Answers of the routers' API, or a file that says why it was not asked. */
async function apiFiles(routers: AskableRouters): Promise<readonly ArchiveFile[]> {
  try {
    const files = await routerFiles(routers);
    return files.length > 0 ? files : [{ path: 'routers/api.txt', content: 'No router pod runs.\n' }];
  } catch (error) {
    const remedy = error instanceof NotReadable ? ` ${error.remedy}` : '';
    const content = `The API of the routers was not asked: ${sentence(messageOf(error))}${remedy}\n${OTHER_SOURCES}`;
    return [{ path: 'routers/api.txt', content }];
  }
}

const OTHER_SOURCES = `The metrics of each router name its links, the sites that it reaches and its certificates.
ConfigMap ${NETWORK_STATUS} has the network, the routing keys and the incoming links, as the leading router sees them.
`;

async function fileOf(path: string, text: Promise<string>): Promise<ArchiveFile> {
  return { path, content: await text.catch((error: unknown) => textOfProblem(messageOf(error))) };
}

function textOfProblem(problem: string): string {
  return `could not be read: ${problem}\n`;
}

/** Facts of the certificates in Secrets, without keys. */
function certificatesIn(found: readonly Secret[]): readonly object[] {
  return found.flatMap(({ metadata, data = {} }) =>
    ['tls.crt', 'ca.crt'].flatMap((key) => {
      const encoded = data[key];
      if (encoded === undefined) return [];
      return [{ secret: metadata.name, key, ...certificateFacts(Buffer.from(encoded, 'base64').toString('utf8')) }];
    }),
  );
}

function hasRunBefore({ status }: Pod, container: string): boolean {
  return (status?.containerStatuses ?? []).some(({ name, lastState }) => name === container && lastState?.terminated !== undefined);
}

function keyOf({ metadata: { name = '', namespace } }: KubeObject): Key {
  return { name, ...(namespace === undefined ? {} : { namespace }) };
}

function named(...names: readonly string[]): (object: KubeObject) => boolean {
  return ({ metadata }) => names.includes(metadata.name ?? '');
}

function isControlled({ metadata }: KubeObject): boolean {
  return metadata.annotations?.[annotation.controlled] === 'true';
}

function isRouterService(name: string | undefined): boolean {
  return name === ROUTER || name === SECOND_ROUTER || name === ROUTER_LOCAL;
}

/** EndpointSlices have the labels of their Service. */
function isSliceOfSite(object: KubeObject): boolean {
  const service = object.metadata.labels?.['kubernetes.io/service-name'];
  return hasLabel(object, label.attached) || hasLabel(object, label.listener) || isRouterService(service);
}

function hasLabel({ metadata }: KubeObject, name: string): boolean {
  return metadata.labels?.[name] !== undefined;
}

function isOfRouter({ metadata }: KubeObject): boolean {
  return metadata.labels?.['app.kubernetes.io/name'] === ROUTER;
}
