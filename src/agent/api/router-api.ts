/**
 * API through which people and programs of the router's own site query the router (pure). docs/reference/router-api.md lists paths, fields
 * and errors.
 */
import type { ShownAs } from '../../errors/catalogue.ts';
import { limitTable } from '../../limits/table.ts';
import type {
  AllFigures,
  KeyFiguresView,
  LinkConfig,
  ObservedRouter,
  ProbeResult,
  ProbeTarget,
  RecordsView,
  RouterState,
  SelfFigures,
  SiteIdentity,
} from '../../router/contract.ts';
import { isUuid } from '../../text/names.ts';
import type { ConditionChanges } from '../condition-changes.ts';
import { connectionQuery, pageAnswer, requestQuery, sequenceOf } from './record-queries.ts';
import { keysOf, sitesOf } from './network-view.ts';

export interface RouterApiSources {
  readonly router: string;
  readonly version: string;
  /** RFC 3339. */
  readonly startedAt: string;
  /** Undefined until the site has a key and a Site. */
  readonly site: () => SiteIdentity | undefined;
  /** Undefined until the router runs. */
  readonly state: () => RouterState | undefined;
  readonly links: () => readonly LinkConfig[];
  /** Undefined if the router records no connections, or does not run yet. */
  readonly records: () => RecordsView | undefined;
  /** Figures of routing keys; undefined until the router runs. */
  readonly keyFigures: () => KeyFiguresView | undefined;
  /** Changes of conditions; undefined until the site's agent runs. */
  readonly changes: () => Pick<ConditionChanges, 'after'> | undefined;
  /** Probes a target; undefined if it does not exist, or while the router does not run. No probes if omitted. */
  readonly probe?: (target: ProbeTarget) => Promise<ProbeResult | undefined>;
  /** Asks the routers of a site for their figures; undefined if none is reachable. No such requests if omitted. */
  readonly observe?: (siteId: string) => Promise<readonly ObservedRouter[] | undefined>;
  /** Undefined until the router runs. No figures if omitted. */
  readonly selfFigures?: () => SelfFigures | undefined;
  /** Reads all figures; undefined until the router runs. */
  readonly figures: () => AllFigures | undefined;
  /** Reason why the router does not do all that its config asks for. */
  readonly unready: () => string | undefined;
  /** Actions besides queries; none if omitted. */
  readonly control?: {
    readonly reload: () => void;
    /** Same effect as SIGTERM. */
    readonly stop: () => void;
  };
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export interface ApiRequest {
  readonly method: string;
  /** Path and query, as in the request line. */
  readonly target: string;
}

export interface ApiAnswer {
  /** HTTP status code. */
  readonly status: number;
  /** JSON value. */
  readonly body: object;
  /** Methods that the path supports; set if the request used another one. */
  readonly allow?: string;
}

export class RouterApi {
  readonly #sources: RouterApiSources;
  readonly #network: Versions;
  readonly #keys: Versions;
  readonly #epoch: string;
  /** Number of sites that are being asked for figures. */
  #observing = 0;

  constructor(sources: RouterApiSources) {
    this.#sources = sources;
    this.#network = new Versions(sources.now());
    this.#keys = new Versions(sources.now());
    this.#epoch = sources.now().toString(36);
  }

  /** A promise if the answer takes time. */
  answer({ method, target }: ApiRequest): ApiAnswer | Promise<ApiAnswer> {
    const [path = '', query = ''] = target.split('?', 2);
    const resource = this.#resource(path, new URLSearchParams(query));
    if (resource === undefined) return failure(404, 'not-found', 'this path does not exist', `Use one of ${this.#paths().join(', ')}.`);
    const act = Object.hasOwn(resource, method) ? resource[method] : undefined;
    if (act !== undefined) return act();
    const allow = Object.keys(resource).join(', ');
    return { ...failure(405, 'usage', 'this path does not support the method', `Use ${allow}.`), allow };
  }

  async #observe(observe: NonNullable<RouterApiSources['observe']>, site: string): Promise<ApiAnswer> {
    if (!isUuid(site)) return failure(400, 'usage', 'the query has no ID of a site', 'Use ?site=ID; /v1/network lists the sites.');
    if (this.#observing >= limitTable.observationsAtOnce.value)
      return failure(503, 'busy', 'too many sites are being asked for figures', 'Repeat the request later.');
    this.#observing += 1;
    try {
      const routers = await observe(site);
      if (routers !== undefined) return ok({ asOf: this.#asOf(), site, routers });
      return failure(404, 'not-found', 'no router of this site is reachable', '/v1/network lists the reachable sites.');
    } finally {
      this.#observing -= 1;
    }
  }

  async #probe(probe: NonNullable<RouterApiSources['probe']>, query: URLSearchParams): Promise<ApiAnswer> {
    const [key, name] = [query.get('key') ?? '', query.get('connector') ?? ''];
    const isOne = (key === '') !== (name === '') && `${key}${name}`.length <= LONGEST_NAME;
    if (!isOne) return failure(400, 'usage', 'the query has no routing key', 'Use ?key=KEY or ?connector=NAME.');
    const result = await probe(key === '' ? { connector: `Connector/${name}` } : { key });
    if (result !== undefined) return ok({ asOf: this.#asOf(), ...result });
    if (key === '') return failure(404, 'not-found', 'this router has no connector of the name', 'Ask another router of the site.');
    return failure(404, 'not-found', 'no reachable site has a connector of this routing key', '/v1/keys lists the routing keys.');
  }

  #resource(path: string, query: URLSearchParams): Readonly<Record<string, () => ApiAnswer | Promise<ApiAnswer>>> | undefined {
    const { control, probe, observe, figures } = this.#sources;
    const since = query.get('since');
    const connection = /^\/v1\/connections\/([0-9a-z]{1,32})$/.exec(path)?.[1];
    if (connection !== undefined) return { DELETE: () => this.#endConnection(connection) };
    const key = /^\/v1\/keys\/([^/]+)$/.exec(path)?.[1];
    if (key !== undefined) return { GET: () => this.#key(key) };
    switch (path) {
      case '/v1/self':
        return { GET: () => ok(this.#self()) };
      case '/v1/network':
        return { GET: () => this.#list(sitesOf(this.#routers()), this.#network, since) };
      case '/v1/keys':
        return { GET: () => this.#list(keysOf(this.#routers()), this.#keys, since) };
      case '/v1/links':
        return { GET: () => ok({ asOf: this.#asOf(), ...this.#links() }) };
      case '/v1/connections':
        return { GET: () => this.#connections(query) };
      case '/v1/requests':
        return { GET: () => this.#requests(query) };
      case '/v1/figures':
        return { GET: () => ok({ asOf: this.#asOf(), ...(figures() ?? { certificates: [], items: [] }) }) };
      case '/v1/changes':
        return { GET: () => ok(this.#changes(since)) };
      case PROBE_PATH:
        return probe && { POST: () => this.#probe(probe, query) };
      case OBSERVE_PATH:
        return observe && { POST: () => this.#observe(observe, query.get('site') ?? '') };
      case '/v1/reload':
        return control && { POST: () => accepted(control.reload) };
      case '/v1/stop':
        return control && { POST: () => accepted(control.stop) };
      default:
        return undefined;
    }
  }

  #paths(): readonly string[] {
    const { control, probe, observe } = this.#sources;
    const paths = [...PATHS, ...(probe === undefined ? [] : [PROBE_PATH]), ...(observe === undefined ? [] : [OBSERVE_PATH])];
    return control === undefined ? paths : [...paths, '/v1/reload', '/v1/stop'];
  }

  #self(): object {
    const { router, version, startedAt, site, unready, selfFigures } = this.#sources;
    const why = unready();
    const readiness = { ready: why === undefined, ...(why === undefined ? {} : { unready: why }) };
    return { router, version, startedAt, site: site() ?? null, ...readiness, ...selfFigures?.() };
  }

  #links(): object {
    const { state, links } = this.#sources;
    const { links: states = {}, incoming = [], endedIncoming = [] } = state() ?? {};
    const items = links().map(({ name, cost, endpoints }) => ({
      name: name.slice(name.indexOf('/') + 1),
      cost,
      endpoints,
      ...(Object.hasOwn(states, name) ? states[name] : { operational: false }),
    }));
    return { items, incoming, endedIncoming };
  }

  #key(encoded: string): ApiAnswer {
    const routingKey = decoded(encoded);
    const found = keysOf(this.#routers()).find(({ key }) => key === routingKey);
    const figures = found && this.#sources.keyFigures()?.ofKey(found.key);
    if (found !== undefined) return ok({ asOf: this.#asOf(), ...found, ...(figures === undefined ? {} : { figures }) });
    return failure(404, 'not-found', 'no site of the network has this routing key', '/v1/keys lists the routing keys.');
  }

  #connections(parameters: URLSearchParams): ApiAnswer {
    const query = connectionQuery(parameters, this.#epoch);
    if ('fault' in query) return failure(400, 'usage', query.fault, 'Correct the query.');
    const records = this.#sources.records();
    return records === undefined ? NO_RECORDS : ok(pageAnswer(records.list(query), this.#epoch, this.#asOf()));
  }

  #requests(parameters: URLSearchParams): ApiAnswer {
    const query = requestQuery(parameters, this.#epoch);
    if ('fault' in query) return failure(400, 'usage', query.fault, 'Correct the query.');
    const records = this.#sources.records();
    return records === undefined ? NO_RECORDS : ok(pageAnswer(records.listRequests(query), this.#epoch, this.#asOf()));
  }

  #changes(since: string | null): object {
    const { items = [], total = 0, latest = 0 } = this.#sources.changes()?.after(sequenceOf(since, this.#epoch) ?? 0) ?? {};
    return { asOf: this.#asOf(), version: `${this.#epoch}-${latest}`, total, items };
  }

  async #endConnection(id: string): Promise<ApiAnswer> {
    const records = this.#sources.records();
    if (records === undefined) return NO_RECORDS;
    if (await records.end(id)) return { status: 202, body: {} };
    return failure(404, 'not-found', 'this router has no open connection with this ID', '/v1/connections lists the connections.');
  }

  #list(items: readonly object[], versions: Versions, since: string | null): ApiAnswer {
    const version = versions.of(items);
    const head = { version, asOf: this.#asOf(), total: items.length };
    return ok(since === version ? { ...head, unchanged: true } : { ...head, items });
  }

  #routers(): RouterState['network'] {
    return this.#sources.state()?.network ?? [];
  }

  #asOf(): string {
    return new Date(this.#sources.now()).toISOString();
  }
}

const PROBE_PATH = '/v1/probe';
const OBSERVE_PATH = '/v1/observe';
/** Characters of a routing key or the name of a Connector. */
const LONGEST_NAME = 253;

const PATHS: readonly string[] = [
  'self',
  'network',
  'links',
  'keys',
  'keys/{key}',
  'connections',
  'connections/{id}',
  'requests',
  'changes',
  'figures',
].map((path) => `/v1/${path}`);

/** Gives each content of a list a version that also differs from all versions before a restart of the router. */
class Versions {
  readonly #epoch: string;
  #number = 0;
  #text = '';

  constructor(now: number) {
    this.#epoch = now.toString(36);
  }

  of(items: readonly object[]): string {
    const text = JSON.stringify(items);
    if (text !== this.#text) {
      this.#text = text;
      this.#number += 1;
    }
    return `${this.#epoch}-${this.#number}`;
  }
}

function ok(body: object): ApiAnswer {
  return { status: 200, body };
}

function accepted(act: () => void): ApiAnswer {
  act();
  return { status: 202, body: {} };
}

export function failure(status: number, code: ShownAs<'answer'>, message: string, remedy: string): ApiAnswer {
  return { status, body: { code, message, do: remedy } };
}

const NO_RECORDS = failure(
  404,
  'not-found',
  'this router does not record connections, or has not started yet',
  'Start it without `--records 0`.',
);

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
