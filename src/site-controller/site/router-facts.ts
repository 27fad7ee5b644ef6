import type { Site } from '../../api/skupper/index.ts';
import { label, NETWORK_DATA, NETWORK_STATUS, ROUTER, SECOND_ROUTER } from '../../api/skupper/cluster-names.ts';
import { siteUidOf } from '../../api/skupper/other-site.ts';
import type { ConfigMap, Deployment, Pod, StringMap } from '../../kube/objects.ts';
import { configMaps, deployments, pods } from '../../kube/resource.ts';
import type { RouterFacts } from '../../site/observe/router-facts.ts';
import { done, waiting } from '../../site/observe/status.ts';
import { printable, quoted } from '../../text/printable.ts';
import { accessEndpoints } from '../access/access-endpoints.ts';
import type { NamespaceView } from '../namespace-view.ts';
import { readIncomingLinks, readNetwork } from './network-record.ts';
import { podProblem } from './pod-problem.ts';

/** State of the site's router pods in the cluster, and what they report about the network. */
export function routerFacts(view: NamespaceView): RouterFacts {
  const networkStatus = view.find(configMaps, NETWORK_STATUS);
  const { data = {} } = networkStatus ?? {};
  const running = runningOf(
    view.list(pods).filter((pod) => isOfSite(pod, view.site)),
    [ROUTER, SECOND_ROUTER].flatMap((name) => view.find(deployments, name) ?? []),
  );
  return {
    running: withApart(withAccount(view.site, running), data[NETWORK_DATA.apart]),
    endpoints: accessEndpoints(view),
    ...(networkStatus === undefined ? readNetworkStatus({}) : read.getOrInsertComputed(networkStatus, () => readNetworkStatus(data))),
  };
}

/** Caches the parsed form of each version: every change in the namespace triggers a reconcile. */
const read = new WeakMap<ConfigMap, ReturnType<typeof readNetworkStatus>>();

function readNetworkStatus(data: StringMap) {
  return { ...readNetwork(data[NETWORK_DATA.sites]), incomingLinks: readIncomingLinks(data[NETWORK_DATA.incoming]) };
}

const LONGEST_APART = 500;

/** Each router works, but the two are partitioned and cannot replace each other. */
function withApart(running: RouterFacts['running'], apart = ''): RouterFacts['running'] {
  if (running.kind !== 'done' || apart === '') return running;
  return { ...running, note: printable(apart.replaceAll('\n', '; '), LONGEST_APART) };
}

/** Excludes pods of a former Site, which take a moment to stop. */
export function isOfSite(pod: Pod, site: Site | undefined): boolean {
  const uid = siteUidOf(pod);
  return pod.metadata.labels?.[label.type] === 'site' && (uid === undefined || uid === site?.metadata.uid);
}

/** A router without permissions cannot report that it lacks them. */
function withAccount(site: Site | undefined, running: RouterFacts['running']): RouterFacts['running'] {
  const account = site?.spec.serviceAccount ?? '';
  if (account === '' || running.kind === 'done') return running;
  const advice = `check that the ServiceAccount ${quoted(account)} of the Site has the rights of a router`;
  return { ...running, message: `${running.message}; ${advice}` };
}

const NONE_READY = 'No router pod is ready';

/** One ready router pod is enough. Otherwise the message says why the first pod is not ready, or why there is no pod. */
export function runningOf(ofRouters: readonly Pod[], ofSite: readonly Deployment[]): RouterFacts['running'] {
  const alive = ofRouters.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  if (alive.some((pod) => pod.status?.phase === 'Running' && isTrue(pod, 'Ready'))) return done;
  const [unready] = alive.flatMap((pod) => podProblem(pod) ?? []);
  if (unready !== undefined) return waiting('starting', unready);
  const [refused] = ofSite.flatMap(({ status }) => status?.conditions?.find(({ type }) => type === 'ReplicaFailure')?.message ?? []);
  return waiting('starting', refused === undefined ? NONE_READY : `${NONE_READY}: ${refused}`);
}

function isTrue({ status }: Pod, condition: string): boolean {
  return status?.conditions?.some((each) => each.type === condition && each.status === 'True') === true;
}
