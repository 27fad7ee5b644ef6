/** Answers of the console API: docs/reference/console-api.md. */
import { catalogue, type ShownAs } from '../errors/catalogue.ts';
import { EarshotError } from '../errors/earshot-error.ts';
import { limitTable } from '../limits/table.ts';
import { isKind, nameOf } from '../site/resources.ts';
import { messageOf } from '../telemetry/log.ts';
import { isRecord } from '../text/is-record.ts';
import { printable } from '../text/printable.ts';
import { commandIn } from '../text/command-in.ts';
import { shellWord } from '../text/shell-word.ts';
import { writeYaml } from '../text/write-yaml.ts';
import { findConnections, listConnections } from './connections.ts';
import type {
  ConnectionDetailView,
  ErrorView,
  ExposedList,
  KeyDetailView,
  KeyView,
  ListView,
  Missing,
  NetworkView,
  ResourceRow,
  ResourceView,
  RevocationView,
  SeriesView,
} from './contract.ts';
import { classDetail, listenerDetail, podDetail } from './exposure-details.ts';
import type { ExposureView } from './exposure-views.ts';
import type { Facts } from './facts.ts';
import { historyFields, historySteps, type HistoryField } from './history.ts';
import { candidatesOf, keyPaths } from './key-paths.ts';
import { listKeySites } from './key-sites.ts';
import { conditionsOf } from './problems.ts';
import { listRequests } from './requests.ts';
import type { ConsoleSources } from './sources.ts';
import { keysOfObject, linkViews, problemsByKey, resourceRow, siteViews } from './views.ts';
import { isExplained, isPermitted, type Permissions } from './permissions.ts';
import { visibleState, type VisibleState } from './visible-state.ts';
import type { Watcher } from './watcher.ts';

export interface Answer {
  readonly status: number;
  readonly body: object;
  readonly allow?: string;
}

const PATHS = [
  'overview',
  'network',
  'sites/{id}',
  'keys',
  'keys/{key}',
  'resources/{kind}',
  'resources/{kind}/{name}',
  'connections',
  'connections/{id}',
  'requests',
  'explain/{kind}/{name}',
  'exposure/{list}',
  'exposure/{list}/{name}',
  'revocations',
  'series',
  'stream',
];

/** Permissions of a request's user, and the console that answers. */
export interface ApiUse {
  readonly sources: ConsoleSources;
  readonly watcher: Watcher;
  readonly permissions: Permissions;
}

/** @param path below the host, percent-encoded */
export async function answerApi(
  { sources, watcher: all, permissions }: ApiUse,
  path: string,
  parameters: URLSearchParams,
): Promise<Answer> {
  const [kind = '', ...rest] = path.replace(/^\/api\/v1\//, '').split('/');
  const [one, two] = rest.map(decoded);
  if (rest.length > 2 || !path.startsWith('/api/v1/')) return unknownPath();
  if (!isPermitted(permissions, [kind, one ?? ''])) return notPermitted(sources);
  const watcher = visibleState(all, permissions);
  switch (`${kind}/${rest.length}`) {
    case 'overview/0':
      return ok(watcher.overview());
    case 'network/0':
      return ok(networkOf(watcher));
    case 'sites/1':
      return oneSite(watcher, one ?? '');
    case 'keys/0':
      return ok(listKeys(watcher, parameters));
    case 'keys/1':
      return keyDetail(sources, watcher, one ?? '');
    case 'resources/1':
      return listResources(watcher, one ?? '', parameters);
    case 'resources/2':
      return oneResource(sources, watcher, one ?? '', two ?? '');
    case 'revocations/0':
      return listRevocations(sources, watcher, parameters);
    case 'series/0':
      return series(watcher, parameters, sources.now());
    case 'exposure/1':
      return listExposed(watcher, one ?? '', parameters, permissions);
    case 'exposure/2':
      return oneExposed(watcher, one ?? '', two ?? '');
    case 'explain/2':
      return explain(sources, one ?? '', two ?? '');
    case 'connections/0':
      return ok(await listConnections(sources, parameters));
    case 'connections/1':
      return oneConnection(sources, one ?? '');
    case 'requests/0':
      return ok(await listRequests(sources, parameters));
    default:
      return unknownPath();
  }
}

/** The only action of the page: it sends traffic along the path of the object. */
export async function probe({ sources, permissions }: Omit<ApiUse, 'watcher'>, body: unknown): Promise<Answer> {
  const { kind = '', name = '' } = isRecord(body) ? { kind: String(body['kind']), name: String(body['name']) } : {};
  if (!permissions.probe || !isExplained(permissions, kind)) return notPermitted(sources);
  return explain(sources, kind, name, true);
}

/** Rights of a user of the cluster: docs/console.md has what each one shows. */
export function notPermitted({ resources: { namespace } }: ConsoleSources): Answer {
  return failure(
    403,
    'not-permitted',
    `you do not have the right to see this in the namespace ${namespace}`,
    'Ask an administrator of the cluster for the role `view` there.',
  );
}

async function explain(sources: ConsoleSources, kind: string, name: string, probes = false): Promise<Answer> {
  try {
    const explanation = await sources.explain?.(kind, name, probes);
    return explanation === undefined ? notExplained() : ok(explanation);
  } catch (error) {
    // Others are faults of the program.
    if (!(error instanceof EarshotError)) throw error;
    return error.code === 'kube-name' ? notExplained() : failure(503, 'not-examined', printable(error.message, MOST_MESSAGE));
  }
}

const MOST_MESSAGE = 512;

const notExplained = (): Answer => failure(404, 'not-found', 'this object cannot be explained');

function unknownPath(): Answer {
  return failure(404, 'not-found', 'this path does not exist', `Use one of ${PATHS.map((path) => `/api/v1/${path}`).join(', ')}.`);
}

const ok = (body: object): Answer => ({ status: 200, body });

/** @param remedy what to do, if the catalogue is too general */
export function failure(status: number, code: ShownAs<'answer'>, message: string, remedy?: string): Answer {
  const body: ErrorView = { code, message, do: remedy ?? catalogue.get(code)?.[2] ?? '' };
  return { status, body };
}

function networkOf({ facts, figures, observed }: VisibleState): NetworkView {
  const [sites, links] = [siteViews(facts, figures, observed), linkViews(facts, figures, observed)];
  return { asOf: new Date(facts.at).toISOString(), sites, links, partial: facts.partial };
}

function oneSite(watcher: VisibleState, id: string): Answer {
  const site = watcher.site(id);
  return site === undefined ? failure(404, 'not-found', 'no site of this ID is reachable', 'Select a site of the network.') : ok(site);
}

const numbers: Readonly<Record<string, (key: KeyView) => number>> = {
  open: ({ open = 0 }) => open,
  opened: ({ rates }) => rates?.opened ?? 0,
  failed: ({ rates }) => rates?.failed ?? 0,
  bytes: ({ rates }) => (rates?.up ?? 0) + (rates?.down ?? 0),
  connect: ({ connect }) => connect?.p95 ?? 0,
  problems: ({ problems }) => problems,
};

function listKeys({ facts, keys }: VisibleState, parameters: URLSearchParams): ListView<KeyView> {
  const query = (parameters.get('q') ?? '').toLowerCase();
  const sort = parameters.get('sort') ?? 'key';
  const found = query === '' ? keys : keys.filter(({ key }) => key.toLowerCase().includes(query));
  const number = Object.hasOwn(numbers, sort) ? numbers[sort] : undefined;
  const sorted = number === undefined ? found : found.toSorted((one, other) => number(other) - number(one));
  return pageOf(sorted, parameters, facts);
}

/** The cursor is the number of items before the page. */
function pageOf<T>(items: readonly T[], parameters: URLSearchParams, facts: Pick<Facts, 'at' | 'partial'>): ListView<T> {
  const from = wholeNumber(parameters.get('cursor'), 0, items.length);
  const limit = wholeNumber(parameters.get('limit'), 1_000, limitTable.consolePageItems.value);
  const next = from + limit;
  return {
    items: items.slice(from, next),
    next: next < items.length ? String(next) : null,
    total: items.length,
    asOf: new Date(facts.at).toISOString(),
    partial: facts.partial,
  };
}

function wholeNumber(text: string | null, usual: number, most: number): number {
  return Math.min(most, text !== null && /^\d{1,9}$/.test(text) ? Number(text) : usual);
}

async function keyDetail(sources: ConsoleSources, { facts, keys, problems }: VisibleState, name: string): Promise<Answer> {
  const [key, known] = [keys.find((each) => each.key === name), facts.keys.find((each) => each.key === name)];
  if (key === undefined || known === undefined)
    return failure(404, 'not-found', 'no site of the network has this routing key', 'Correct the name, or check that the site runs.');
  const sites = await listKeySites(sources, name, new Map(facts.sites.map(({ id, name: of }) => [id, of])));
  const detail: KeyDetailView = {
    ...key,
    sites,
    candidates: candidatesOf(facts, known),
    paths: keyPaths(facts, known),
    resources: facts.objects.filter((object) => keysOfObject(object).includes(name)).map((object) => resourceRow(object, facts.at)),
    problemList: problemsByKey(facts, problems).get(name) ?? [],
  };
  return ok(detail);
}

async function oneConnection(sources: ConsoleSources, id: string): Promise<Answer> {
  const [connection, ...others] = await findConnections(sources, id);
  if (connection === undefined)
    return failure(
      404,
      'not-found',
      'no router of this site has a connection with this ID',
      'It may have ended long ago, or got no record.',
    );
  const detail: ConnectionDetailView = { ...connection, others: others.length };
  return ok(detail);
}

function listResources({ facts }: VisibleState, kind: string, parameters: URLSearchParams): Answer {
  if (kind !== 'all' && !isKind(kind)) return failure(404, 'not-found', 'this kind does not exist');
  const found = kind === 'all' ? facts.objects : facts.objects.filter((object) => object.kind === kind);
  const list: ListView<ResourceRow> = pageOf(
    found.map((object) => resourceRow(object, facts.at)),
    parameters,
    facts,
  );
  return ok(list);
}

function oneResource(sources: ConsoleSources, { facts }: VisibleState, kind: string, name: string): Answer {
  const object = facts.objects.find((each) => each.kind === kind && nameOf(each) === name);
  if (object === undefined) return failure(404, 'not-found', 'this resource does not exist');
  const view: ResourceView = {
    ...resourceRow(object, facts.at),
    conditions: conditionsOf(object),
    yaml: writeYaml(sources.redacted(object)),
    command: commandFor(sources, kind, name).replaceAll('`', ''),
  };
  return ok(view);
}

const detailOf = { classes: classDetail, listeners: listenerDetail, pods: podDetail } as const satisfies Record<ExposedList, unknown>;

const isExposedList = (text: string): text is ExposedList => Object.hasOwn(detailOf, text);

function listExposed(
  { facts: { exposure } }: Pick<Watcher, 'facts'>,
  list: string,
  parameters: URLSearchParams,
  { classes }: Permissions,
): Answer {
  if (exposure === undefined || !isExposedList(list)) return notExposed(exposure);
  const { partial, facts } = exposure;
  const missing = list === 'classes' && !classes ? [CLASSES_HIDDEN] : partial;
  return ok(pageOf<object>(exposure[list], parameters, { at: facts.now, partial: missing }));
}

const CLASSES_HIDDEN: Missing = {
  router: '',
  why: 'ListenerClasses are not shown: you have no right to list listenerclasses.listeners.stackable.tech in the cluster.',
};

function oneExposed({ facts: { exposure } }: Pick<Watcher, 'facts'>, list: string, name: string): Answer {
  if (exposure === undefined || !isExposedList(list)) return notExposed(exposure);
  const detail = detailOf[list](exposure, name);
  return detail === undefined ? failure(404, 'not-found', 'this object does not exist, or exposes nothing') : ok(detail);
}

function notExposed(exposure: ExposureView | undefined): Answer {
  return exposure === undefined
    ? failure(404, 'not-found', 'nothing is exposed here', 'Use a cluster with the exposure half: the chart with `exposure.enabled`.')
    : failure(404, 'not-found', 'this list does not exist', `Use one of ${Object.keys(detailOf).join(', ')}.`);
}

async function listRevocations(
  { resources }: ConsoleSources,
  { facts }: Pick<Watcher, 'facts'>,
  parameters: URLSearchParams,
): Promise<Answer> {
  if (resources.revoked === undefined) return failure(404, 'not-found', 'revocations cannot be read here', REVOCATIONS_ADVICE);
  try {
    const revoked = await resources.revoked();
    const views = revoked.map(({ name, at }): RevocationView => ({ name: printable(name, 253), at: new Date(at).toISOString() }));
    return ok(pageOf(views.toReversed(), parameters, { at: facts.at, partial: [] }));
  } catch (error) {
    // A damaged list must not look like an empty one.
    return failure(404, 'not-found', `revocations cannot be read: ${printable(messageOf(error), 512)}`, REVOCATIONS_ADVICE);
  }
}

const REVOCATIONS_ADVICE = 'Use `earshot site status`.';

function commandFor({ resources }: ConsoleSources, kind: string, of: string): string {
  const name = shellWord(of);
  switch (kind) {
    case 'Link':
      return commandIn(resources, `link status ${name} -o yaml`);
    case 'Listener':
      return commandIn(resources, `listener status ${name} -o yaml`);
    case 'Connector':
      return commandIn(resources, `connector status ${name} -o yaml`);
    default:
      return commandIn(resources, 'status -o yaml');
  }
}

function series({ history }: VisibleState, parameters: URLSearchParams, now: number): Answer {
  const of = parameters.get('of') ?? '';
  const at = of.lastIndexOf(':');
  const [id, field] = [of.slice(0, at), of.slice(at + 1)];
  const step = wholeNumber(parameters.get('step'), 10, 900);
  if (!Object.hasOwn(historyFields, field) || !historySteps.some(({ seconds }) => seconds === step)) {
    const fields = Object.keys(historyFields).join(', ');
    return failure(
      400,
      'usage',
      'this series does not exist',
      `Use of=all:FIELD or of=key:KEY:FIELD with ${fields}, and a step of 10, 60 or 900.`,
    );
  }
  const from = timeOf(parameters.get('from'), 0);
  const to = timeOf(parameters.get('to'), now);
  // Checked above: it is a field.
  const found = history.read(id, field as HistoryField, step, from, to);
  const empty: SeriesView = { of, step, unit: historyFields[field as HistoryField], points: [] };
  return ok(found ?? empty);
}

/** Milliseconds since 1970, or RFC 3339. */
function timeOf(text: string | null, usual: number): number {
  if (text === null) return usual;
  const time = /^\d{1,15}$/.test(text) ? Number(text) : Date.parse(text);
  return Number.isNaN(time) ? usual : time;
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
