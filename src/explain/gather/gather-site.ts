/** Gathers the facts about a site for explanations. No source waits for another, and each has a deadline. */
import type { Site, SiteRecord, SkupperKind, SkupperResource } from '../../api/skupper/index.ts';
import { skupperKinds, skupperResources } from '../../api/skupper/index.ts';
import { ForbiddenError } from '../../errors/forbidden-error.ts';
import { wholeName } from '../../kube/resource.ts';
import type { Resources } from '../../platform/resources.ts';
import { isKind, nameOf } from '../../site/resources.ts';
import { VERSION } from '../../version.ts';
import { sortActiveFirst } from '../../site/surplus-sites.ts';
import { isRecord } from '../../text/is-record.ts';
import { printable } from '../../text/printable.ts';
import { supportsKind } from '../../site/capabilities.ts';
import {
  probeName,
  type BundleFacts,
  type IncomingFacts,
  type LinkFacts,
  type NetworkFacts,
  type OpenFiles,
  type PastConnection,
  type ProbedTarget,
  type ProbeFacts,
  type RefusedKinds,
  type SiteFacts,
  type Source,
  type WrittenProblem,
} from '../connection/site-facts.ts';
import { readSource } from './read-source.ts';
import { readIncoming, readLinks, readNetwork, readPast, readProbe, readSelf } from './router-answers.ts';

/** Where the facts about a site come from. */
export interface SiteSources {
  readonly resources: Resources;
  /** Asks all routers of the site: `/v1/links`. Undefined if this process cannot reach their API. @throws Error without an answer */
  readonly askRouters?: (path: string, signal: AbortSignal) => Promise<readonly unknown[]>;
  /** Connects to the routers, for requests whose deadlines are too short for that. */
  readonly connect?: () => Promise<void>;
  /** Probes a target; undefined as above. @throws Error without an answer */
  readonly probe?: (target: ProbedTarget, signal: AbortSignal) => Promise<unknown>;
  /** Certificates of the site's TLS bundles and authorities. Undefined if this process cannot read them. */
  readonly bundles?: () => Promise<readonly BundleFacts[]>;
  /** Open files of the routers' processes; undefined as above. */
  readonly openFiles?: () => Promise<readonly OpenFiles[]>;
}

export async function gatherSite(sources: SiteSources): Promise<SiteFacts> {
  const { resources, askRouters, bundles, openFiles } = sources;
  const { namespace, where, commandFlags, conventions } = resources;
  const isMachine = conventions.platform.access === undefined;
  const connected = sources.connect?.();
  const [stopped, listed, written, problems, asked, links, certificates, files, routers] = await Promise.all([
    readSource('the state of the process', () => resources.notRunning()),
    readSource('the resources', () => listAll(resources)),
    readSource('the written resources', () => listWritten(resources)),
    readSource('the problems of files', () => listProblems(resources)),
    askRouters === undefined
      ? undefined
      : readConnected(connected, async (signal) => {
          // Each router knows the whole network.
          const [[network], [keys]] = await Promise.all([askRouters('/v1/network', signal), askRouters('/v1/keys', signal)]);
          return readNetwork(network, keys);
        }),
    askRouters === undefined ? undefined : readConnected(connected, (signal) => askRouters('/v1/links', signal)),
    bundles === undefined ? undefined : readSource('the certificates', () => bundles()),
    openFiles === undefined ? undefined : readSource('the open files', () => openFiles()),
    askRouters === undefined ? undefined : readConnected(connected, (signal) => askRouters('/v1/self', signal)),
  ]);
  const objects = mapped(listed, (lists) => lists.objects);
  const refused = 'value' in listed && listed.value.refused.size > 0 ? { refused: listed.value.refused } : {};
  const site =
    'value' in objects ? sortActiveFirst(objects.value.filter((object): object is Site => object.kind === 'Site'))[0] : undefined;
  return {
    place: { namespace, where, commandFlags, isMachine },
    version: VERSION,
    now: Date.now(),
    stopped,
    objects,
    ...refused,
    written,
    problems,
    network: asked !== undefined && 'value' in asked ? asked : networkOfStatus(site, asked),
    // In a cluster, the API server has the statuses even if the user may not ask the routers.
    links: links === undefined || ('unknown' in links && !isMachine) ? mapped(objects, linksOfStatuses) : mapped(links, readLinks),
    ...(links !== undefined && 'unknown' in links ? { routersSilent: true as const } : {}),
    incoming: links !== undefined && 'value' in links ? mapped(links, readIncoming) : incomingOfStatus(site),
    bundles: certificates ?? mapped(objects, bundlesOfCertificates),
    ...(files !== undefined && 'value' in files ? { openFiles: files.value } : {}),
    ...(routers !== undefined && 'value' in routers ? { routers: routers.value.map(readSelf) } : {}),
  };
}

async function readConnected<T>(connected: Promise<void> | undefined, read: (signal: AbortSignal) => Promise<T>): Promise<Source<T>> {
  await connected;
  return readSource('the router API', read);
}

/** The same facts with the last connections of the keys, if the router records them. */
export async function withHistory(facts: SiteFacts, { askRouters }: SiteSources, keys: readonly string[]): Promise<SiteFacts> {
  // A router that did not answer would only take more time.
  if (askRouters === undefined || facts.routersSilent === true) return facts;
  const read = keys.slice(0, MOST_PROBED).map(async (key): Promise<readonly [string, Source<readonly PastConnection[]>]> => {
    const lists = await readSource('the records of connections', (signal) =>
      Promise.all(
        (['ended', 'failed'] as const).map((state) =>
          askRouters(`/v1/connections?state=${state}&limit=40&key=${encodeURIComponent(key)}`, signal),
        ),
      ),
    );
    return [key, mapped(lists, (answers) => answers.flat().flatMap(readPast))];
  });
  return { ...facts, history: new Map(await Promise.all(read)) };
}

/** The same facts with what probes of the targets find. */
export async function withProbes(facts: SiteFacts, { probe }: SiteSources, targets: readonly ProbedTarget[]): Promise<SiteFacts> {
  const probed = targets.slice(0, MOST_PROBED).map(async (target): Promise<readonly [string, Source<ProbeFacts>]> => {
    const name = probeName(target);
    if (probe === undefined) return [name, { unknown: NO_API }];
    return [name, mapped(await readSource('the probe', (signal) => probe(target, signal), PROBE_DEADLINE), readProbe)];
  });
  return { ...facts, probes: new Map(await Promise.all(probed)) };
}

/** Maximum number of targets that one explanation probes. */
const MOST_PROBED = 4;
/** Milliseconds. */
const PROBE_DEADLINE = 10_000;

export const NO_API = 'the router API is not reachable from here';

function mapped<T, U>(source: Source<T>, map: (value: T) => U): Source<U> {
  return 'value' in source ? { value: map(source.value) } : source;
}

interface Lists {
  readonly objects: readonly SkupperResource[];
  readonly refused: RefusedKinds;
}

/** A user may lack the right to some kinds: the role `view` has none to those that hold codes. */
async function listAll(resources: Resources): Promise<Lists> {
  const supported = skupperKinds.filter((kind) => supportsKind(kind, resources.conventions.platform.capabilities));
  const refused = new Map<SkupperKind, string>();
  const lists = await Promise.all(
    supported.map(async (kind): Promise<readonly SkupperResource[]> => {
      try {
        return await resources.list(kind);
      } catch (error) {
        if (!(error instanceof ForbiddenError)) throw error;
        refused.set(kind, `your user may not list ${wholeName(skupperResources[kind])} in the namespace ${resources.namespace}`);
        if (refused.size === supported.length) throw error;
        return [];
      }
    }),
  );
  return { objects: lists.flat(), refused };
}

async function listWritten(resources: Resources): Promise<SiteFacts['written'] extends Source<infer T> ? T : never> {
  const written = await resources.written();
  return written
    .filter(({ manifest }) => isKind(manifest.kind))
    .map(({ manifest, location }) => ({ kind: manifest.kind, name: manifest.metadata.name, location: printable(location) }));
}

async function listProblems(resources: Resources): Promise<readonly WrittenProblem[]> {
  const { problems, problemText } = await resources.about();
  return problems
    .filter(isRecord)
    .map((problem, index) => ({
      ...(typeof problem['resource'] === 'string' ? { resource: problem['resource'] } : {}),
      ...(Array.isArray(problem['affected']) ? { affected: problem['affected'].map(String) } : {}),
      ...(typeof problem['file'] === 'string' ? { file: printable(problem['file']) } : {}),
      isError: problem['severity'] === 'error',
      text: printable(problemText?.lines[index] ?? String(problem['message']), 1_024),
    }));
}

/** The status has no costs, and a large network is shortened there. */
function networkOfStatus(site: Site | undefined, asked: Source<unknown> | undefined): Source<NetworkFacts> {
  const network = site?.status?.network;
  if (network === undefined) return { unknown: asked !== undefined && 'unknown' in asked ? asked.unknown : 'the Site has no status yet' };
  return { value: { sites: network.map(siteOfRecord) } };
}

function siteOfRecord({ id = '', name = '', version = '', links = [], services = [] }: SiteRecord): NetworkFacts['sites'][number] {
  return {
    id: printable(id),
    name: printable(name),
    version: printable(version),
    isEdge: false,
    routers: [],
    links: links.filter(({ operational }) => operational !== false).map(({ remoteSiteId = '' }) => ({ siteId: remoteSiteId, cost: 1 })),
    keys: services.map(({ routingKey = '', listeners = [], connectors = [] }) => ({
      key: routingKey,
      listeners: countOf(listeners),
      connectors: countOf(connectors),
    })),
  };
}

/** Entries of other sites are `router/1`, `router/2` for each router, and all routers of a site have the same listeners and servers. */
function countOf(entries: readonly string[]): number {
  const byRouter = Map.groupBy(entries, (entry) => /^(.+)\/\d+$/.exec(entry)?.[1] ?? '');
  return Math.max(0, ...[...byRouter.values()].map(({ length }) => length));
}

/** Statuses on Kubernetes have no codes. */
function linksOfStatuses(objects: readonly SkupperResource[]): ReadonlyMap<string, LinkFacts> {
  return new Map(
    objects.flatMap((object): readonly (readonly [string, LinkFacts])[] => {
      if (object.kind !== 'Link') return [];
      const { message = '', remoteSiteId, remoteSiteName, conditions = [] } = object.status ?? {};
      const operational = conditions.some(({ type, status }) => type === 'Operational' && status === 'True');
      const link = {
        operational,
        ...(remoteSiteId === undefined ? {} : { siteId: remoteSiteId }),
        ...(remoteSiteName === undefined ? {} : { siteName: printable(remoteSiteName) }),
        ...(operational ? {} : { problem: { code: '', message: printable(message) } }),
      };
      return [[nameOf(object), link]];
    }),
  );
}

/** Without a right to read Secrets, the Certificates that fill them have the dates. */
function bundlesOfCertificates(objects: readonly SkupperResource[]): readonly BundleFacts[] {
  return objects.flatMap((object): readonly BundleFacts[] => {
    if (object.kind !== 'Certificate' || object.status?.expiration === undefined) return [];
    const { ca, subject, hosts = [], signing = false } = object.spec;
    const name = nameOf(object);
    const dates = { notBefore: 0, notAfter: Date.parse(object.status.expiration) };
    return [{ name, location: `Certificate ${name}`, subject, issuer: ca, hosts, ...dates, isAuthority: signing }];
  });
}

function incomingOfStatus(site: Site | undefined): Source<readonly IncomingFacts[]> {
  const links = site?.status?.incomingLinks ?? [];
  return {
    value: links.map(({ siteId = '', siteName = '', address = '', operational = false, since = '', message = '' }) => ({
      siteId,
      siteName: printable(siteName),
      address: printable(address),
      operational,
      ...(operational ? {} : { ended: { at: Date.parse(since) || 0, reason: printable(message) } }),
    })),
  };
}

/** Names of the objects of a kind, for suggestions. */
export function namesOf(facts: SiteFacts, kind: SkupperKind): readonly string[] {
  return 'value' in facts.objects ? facts.objects.value.filter((object) => object.kind === kind).map(nameOf) : [];
}
