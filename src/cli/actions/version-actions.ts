import { CONTROLLER_NAME, ROUTER } from '../../api/skupper/cluster-names.ts';
import { sites } from '../../api/skupper/index.ts';
import type { KubeObject } from '../../kube/objects.ts';
import { deployments } from '../../kube/resource.ts';
import { controllerOf } from '../../platform/kubernetes/cluster-resources/controller-runs.ts';
import { explained } from '../../platform/kubernetes/cluster-resources/explain.ts';
import { messageOf } from '../../telemetry/log.ts';
import { isRecord } from '../../text/is-record.ts';
import { printable } from '../../text/printable.ts';
import { BUILD, VERSION } from '../../version.ts';
import { fieldLines, structured, table, type OutputFormat } from '../output/output.ts';
import type { Terminal } from '../output/terminal.ts';
import { isMachine, type PlaceWords } from '../place.ts';
import { openCluster, platformFor, type Cluster } from '../resources.ts';

/** Timeout in milliseconds for asking the cluster. The program's own version is shown in any case. */
const PATIENCE = 5_000;

export async function showVersion(words: PlaceWords, output: OutputFormat | undefined, terminal: Terminal): Promise<void> {
  const own = {
    earshot: VERSION,
    ...(BUILD && { commit: BUILD.commit, date: BUILD.date }),
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
  };
  const { platform } = await platformFor(words);
  const versions = isMachine(platform) ? own : { ...own, ...(await clusterVersions(words)) };
  terminal.out(output === undefined ? fieldLines(Object.entries(versions)) : structured(versions, output));
}

export interface ManifestRow {
  /** Image, or path of the program. */
  readonly component: string;
  readonly version: string;
}

/** Images in use, or the program if there are none, with their versions. */
export async function showManifest(words: PlaceWords, output: OutputFormat | undefined, terminal: Terminal): Promise<void> {
  const { platform } = await platformFor(words);
  const { controller, router } = isMachine(platform) ? {} : await clusterVersions(words);
  const images = [...new Set([controller, router].filter((image) => image !== undefined))].map(imageRow);
  const components = images.length > 0 ? images : [{ component: process.argv[1] ?? 'earshot', version: VERSION }];
  const rows = components.map(({ component, version }) => [component, version]);
  terminal.out(output === undefined ? table(['COMPONENT', 'VERSION'], rows) : structured({ components }, output));
}

/** Splits an image reference (`HOST:PORT/NAME:TAG` or `NAME@DIGEST`). */
export function imageRow(image: string): ManifestRow {
  const [, component = image, version = 'latest'] = /^(.+?)(?:@|:(?=[^/]*$))(.+)$/.exec(image) ?? [];
  return { component, version };
}

/** Versions in the cluster, as far as the user's permissions allow, or why they are unknown. */
async function clusterVersions(words: PlaceWords): Promise<Readonly<Record<string, string>>> {
  let cluster: Cluster;
  try {
    cluster = await openCluster(words, PATIENCE);
  } catch (error) {
    return { cluster: messageOf(error) };
  }
  const { client, place } = cluster;
  try {
    const found: KubeObject[] = [];
    for await (const site of client.list(sites, { namespace: place.namespace })) found.push(site);
    const { name, namespace } = controllerOf(found);
    const [controller, router] = await Promise.all([
      imageOf(cluster, namespace, name, CONTROLLER_NAME),
      imageOf(cluster, place.namespace, ROUTER, 'router'),
    ]);
    return { cluster: place.cluster, namespace: place.namespace, ...(controller && { controller }), ...(router && { router }) };
  } catch (error) {
    return { cluster: messageOf(explained(error, place)) };
  }
}

/** @param container name of the container whose image is returned; the first container if it does not exist */
async function imageOf({ client }: Cluster, namespace: string, name: string, container: string): Promise<string | undefined> {
  const found = await client.find(deployments, { namespace, name }).catch(() => undefined);
  const template = found?.spec?.template;
  const spec = isRecord(template) && isRecord(template['spec']) ? template['spec'] : {};
  const containers = (Array.isArray(spec['containers']) ? spec['containers'] : []).filter(isRecord);
  const image = (containers.find((one) => one['name'] === container) ?? containers[0])?.['image'];
  return typeof image === 'string' ? printable(image, 300) : undefined;
}
