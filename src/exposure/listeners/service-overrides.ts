/** What class and Listener change about the Service that is built: pure, and safe with any JSON. */
import type { Service } from '../../kube/objects.ts';
import { isRecord } from '../../text/is-record.ts';
import { mergeService, type Fields, type Report } from './service-merge.ts';
import { shortened, shownValue } from '../../text/printable.ts';
import type { ObjectOverridesPolicy } from '../../api/listeners/index.ts';
import { withinClass } from './within-class.ts';

export interface Overrides {
  /** `ListenerClass.spec.serviceOverrides`. */
  readonly classOverrides?: unknown;
  /** `Listener.spec.objectOverrides`. */
  readonly objectOverrides?: unknown;
  /** `ListenerClass.spec.objectOverridesPolicy`; left out: `Any`. */
  readonly objectOverridesPolicy?: ObjectOverridesPolicy;
}

/** Something in an override that a person should know of. */
export interface OverrideProblem {
  /** `ignored`: this part had no effect. `notice`: it was done, and may not be what was meant. */
  readonly kind: 'ignored' | 'notice';
  /** Where, beginning with `serviceOverrides` or `objectOverrides[INDEX]`. */
  readonly path: string;
  /** What is the matter and what to do; a predicate of the path, ending in a full stop. */
  readonly message: string;
}

/**
 * Merges the class's overrides over the Service, then each of the Listener's that names this Service. How values merge:
 * service-merge.ts. What the Listener stands on stays: which object this is, who owns it, what the API server and
 * status writers put there.
 */
export function applyOverrides(
  base: Service,
  overrides: Overrides,
): { readonly service: Service; readonly problems: readonly OverrideProblem[] } {
  const problems: OverrideProblem[] = [];
  const report: Reporter = (problem) => {
    if (problems.length < MOST_PROBLEMS) problems.push({ ...problem, path: shortened(problem.path, LONGEST_PATH) });
  };
  let merged: Fields = { ...base };
  for (const { path, value, isOfClass } of applicable(base, overrides, report)) {
    const before = merged;
    const ignored: Report = (at, message) => report({ kind: 'ignored', path: join(path, at), message });
    const known = withoutProtected(base, value, path, report);
    const isConfined = !isOfClass && overrides.objectOverridesPolicy === 'WithinClass';
    const allowed = isConfined ? withinClass(known, { service: before, classOverrides: overrides.classOverrides }, ignored) : known;
    merged = mergeService(before, allowed, ignored);
    if (!isSameSelector(before, merged)) report(selectorNotice(path));
  }
  // metadata is still an object (an override cannot replace or remove it). Whether the rest is a Service is for the API
  // server to say, and its answer becomes a condition.
  return { service: merged as unknown as Service, problems };
}

/** A condition shows them all, and its message has 32 KiB. */
const MOST_PROBLEMS = 20;
const LONGEST_PATH = 300;

/** Deeper than any Service, and shallow enough for every recursive function that sees the result. */
const DEEPEST_NESTING = 32;

type Reporter = (problem: OverrideProblem) => void;

interface Applicable {
  readonly path: string;
  readonly value: Fields;
  /** What a class says is the administrator's word. */
  readonly isOfClass: boolean;
}

function applicable(base: Service, { classOverrides, objectOverrides }: Overrides, report: Reporter): readonly Applicable[] {
  const found: Applicable[] = [];
  const take = (path: string, value: unknown, isOfClass: boolean) => {
    if (!isRecord(value)) report({ kind: 'ignored', path, message: 'must be an object; it is left out.' });
    else if (isDeeper(value, DEEPEST_NESTING)) {
      report({ kind: 'ignored', path, message: `is nested more than ${DEEPEST_NESTING} deep; all of it is left out.` });
    } else if (isOfClass || names(base, value)) found.push({ path, value, isOfClass });
    else report({ kind: 'ignored', path, message: strangerMessage(base, value) });
  };
  if (isPresent(classOverrides)) take('serviceOverrides', classOverrides, true);
  if (Array.isArray(objectOverrides)) {
    for (const [index, entry] of objectOverrides.entries()) take(`objectOverrides[${index}]`, entry, false);
  } else if (isPresent(objectOverrides)) report({ kind: 'ignored', path: 'objectOverrides', message: 'must be a list; it is left out.' });
  return found;
}

/** A namespace may be left out: nothing is built in any other. */
function names(base: Service, override: Fields): boolean {
  const metadata = isRecord(override['metadata']) ? override['metadata'] : {};
  return (
    override['apiVersion'] === base.apiVersion &&
    override['kind'] === base.kind &&
    metadata['name'] === base.metadata.name &&
    (metadata['namespace'] ?? base.metadata.namespace) === base.metadata.namespace
  );
}

function strangerMessage(base: Service, override: Fields): string {
  const metadata = isRecord(override['metadata']) ? override['metadata'] : {};
  const given = [override['apiVersion'], override['kind'], metadata['namespace'], metadata['name']].filter(isPresent).map(shown);
  const named = given.length === 0 ? 'no object' : given.join(' ');
  const service = `apiVersion ${base.apiVersion}, kind ${base.kind}, metadata.name ${base.metadata.name}`;
  return `names ${named}, which is not built for this Listener; it is left out. To mean the Service: ${service}.`;
}

function selectorNotice(path: string): OverrideProblem {
  const message =
    'replaces the whole selector, so traffic goes to whatever pods it selects, whether they mount the Listener or not; ' +
    'to narrow the pods down, use spec.extraPodSelectorLabels of the Listener.';
  return { kind: 'notice', path: `${path}.spec.selector`, message };
}

function isSameSelector(one: Fields, other: Fields): boolean {
  const before = selectorOf(one);
  const after = selectorOf(other);
  return before.size === after.size && [...before].every(([key, value]) => after.get(key) === value);
}

function selectorOf({ spec }: Fields): ReadonlyMap<string, unknown> {
  return new Map(isRecord(spec) && isRecord(spec['selector']) ? Object.entries(spec['selector']) : []);
}

const IDENTITY = 'is what the Service is found by; it is left out.';
const SERVER_OWNED = 'is set by the API server; it is left out.';

/** May be repeated, not changed. */
const fixedFields = new Map([
  ['apiVersion', IDENTITY],
  ['kind', IDENTITY],
]);
const fixedMetadata = new Map([
  ['name', IDENTITY],
  ['namespace', IDENTITY],
]);

/** May not be said at all. */
const foreignFields = new Map([['status', 'is written by whoever provides the addresses; it is left out.']]);
const setByServer = [
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'selfLink',
  'managedFields',
];
const foreignMetadata = new Map([
  ['ownerReferences', 'ties the Service to its Listener; it is left out.'],
  ['finalizers', 'belongs to the program that will remove it, and would keep the Service from being deleted; it is left out.'],
  ['generateName', IDENTITY],
  ...setByServer.map((field) => [field, SERVER_OWNED] as const),
]);

function withoutProtected(base: Service, override: Fields, path: string, report: Reporter): Fields {
  const filter = (part: Fields, at: string, current: Fields, fixed: ReadonlyMap<string, string>, foreign: ReadonlyMap<string, string>) =>
    Object.fromEntries(
      Object.entries(part).filter(([key, value]) => {
        const reason = fixed.get(key) ?? foreign.get(key);
        if (reason === undefined) return true;
        const isHarmless = fixed.has(key) ? !isPresent(value) || value === current[key] : isEmpty(value);
        if (!isHarmless) report({ kind: 'ignored', path: `${at}.${key}`, message: reason });
        return false;
      }),
    );
  const allowed = filter(override, path, { ...base }, fixedFields, foreignFields);
  const metadata = allowed['metadata'];
  return {
    ...withoutNull(allowed, ['metadata', 'spec']),
    ...(isRecord(metadata) ? { metadata: filter(metadata, `${path}.metadata`, { ...base.metadata }, fixedMetadata, foreignMetadata) } : {}),
  };
}

/** `null` would remove a part that holds protected or needed fields; as everywhere in YAML it may just mean "nothing here". */
function withoutNull(value: Fields, keys: readonly string[]): Fields {
  return Object.fromEntries(Object.entries(value).filter(([key, item]) => item !== null || !keys.includes(key)));
}

/** Empty all the way down, as programs write out what they do not set (`status: {loadBalancer: {}}`). */
function isEmpty(value: unknown): boolean {
  if (!isPresent(value)) return true;
  return typeof value === 'object' && value !== null && Object.values(value).every(isEmpty);
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((item) => isDeeper(item, levels - 1));
}

/** A value from a manifest within a message: one line, short, quoted unless it is a plain name. */
function shown(value: unknown): string {
  if (typeof value !== 'string') return typeof value === 'object' ? 'an object' : String(value);
  return shownValue(value);
}

/** `at` may begin with a bracket. */
function join(path: string, at: string): string {
  return at.startsWith('[') ? path + at : `${path}.${at}`;
}
