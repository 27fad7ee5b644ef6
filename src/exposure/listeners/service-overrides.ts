/** Applies the overrides of a class and a Listener to a Service. Pure, and safe with any JSON. */
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
  /** `ListenerClass.spec.objectOverridesPolicy`. Default: `Any`. */
  readonly objectOverridesPolicy?: ObjectOverridesPolicy;
}

/** A problem in an override that the user should know. */
export interface OverrideProblem {
  /** `ignored`: this part had no effect. `notice`: it was applied, but may not be intended. */
  readonly kind: 'ignored' | 'notice';
  /** Path that begins with `serviceOverrides` or `objectOverrides[INDEX]`. */
  readonly path: string;
  /** Names the fault and how to fix it: a predicate of the path that ends in a full stop. */
  readonly message: string;
}

/**
 * Merges the class's overrides into the Service, then each of the Listener's overrides that names this Service. service-merge.ts
 * defines how values merge. Protected fields stay: the object's identity, its owner, and fields written by the API server or into
 * the status.
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
  // metadata is still an object: an override can neither replace nor remove it. The API server validates the rest, and a
  // condition shows its answer.
  return { service: merged as unknown as Service, problems };
}

/** Limits, because a condition shows all problems and its message has at most 32 KiB. */
const MOST_PROBLEMS = 20;
const LONGEST_PATH = 300;

/** Maximum number of overrides of a Service: each is merged over all its ports. */
const MOST_OVERRIDES = 64;

/** Maximum nesting: deeper than any Service, and safe for every recursive function that processes the result. */
const DEEPEST_NESTING = 32;

type Reporter = (problem: OverrideProblem) => void;

interface Applicable {
  readonly path: string;
  readonly value: Fields;
  /** Overrides of a class come from the administrator. */
  readonly isOfClass: boolean;
}

function applicable(base: Service, { classOverrides, objectOverrides }: Overrides, report: Reporter): readonly Applicable[] {
  const found: Applicable[] = [];
  const take = (path: string, value: unknown, isOfClass: boolean) => {
    if (!isRecord(value)) report({ kind: 'ignored', path, message: 'must be an object; it is ignored.' });
    else if (isDeeper(value, DEEPEST_NESTING)) {
      report({ kind: 'ignored', path, message: `is nested more than ${DEEPEST_NESTING} deep; it is ignored.` });
    } else if (isOfClass) found.push({ path, value, isOfClass });
    else if (!names(base, value)) report({ kind: 'ignored', path, message: foreignObjectMessage(base, value) });
    else if (found.length >= MOST_OVERRIDES)
      report({ kind: 'ignored', path, message: `comes after ${MOST_OVERRIDES} others; it is ignored.` });
    else found.push({ path, value, isOfClass });
  };
  if (isPresent(classOverrides)) take('serviceOverrides', classOverrides, true);
  if (Array.isArray(objectOverrides)) {
    for (const [index, entry] of objectOverrides.entries()) take(`objectOverrides[${index}]`, entry, false);
  } else if (isPresent(objectOverrides)) report({ kind: 'ignored', path: 'objectOverrides', message: 'must be a list; it is ignored.' });
  return found;
}

/** Whether the override names this Service. The namespace is optional, because nothing is created in other namespaces. */
function names(base: Service, override: Fields): boolean {
  const metadata = isRecord(override['metadata']) ? override['metadata'] : {};
  return (
    override['apiVersion'] === base.apiVersion &&
    override['kind'] === base.kind &&
    metadata['name'] === base.metadata.name &&
    (metadata['namespace'] ?? base.metadata.namespace) === base.metadata.namespace
  );
}

function foreignObjectMessage(base: Service, override: Fields): string {
  const metadata = isRecord(override['metadata']) ? override['metadata'] : {};
  const given = [override['apiVersion'], override['kind'], metadata['namespace'], metadata['name']].filter(isPresent).map(shown);
  const named = given.length === 0 ? 'no object' : given.join(' ');
  const service = `apiVersion ${base.apiVersion}, kind ${base.kind}, metadata.name ${base.metadata.name}`;
  return `names ${named}, which does not belong to this Listener; it is ignored. To change the Service, use ${service}.`;
}

function selectorNotice(path: string): OverrideProblem {
  const message =
    'replaces the whole selector, so traffic goes to all pods that it selects, even if they do not mount the Listener; ' +
    'to select fewer pods, use spec.extraPodSelectorLabels of the Listener.';
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

const IDENTITY = 'identifies the Service; it is ignored.';
const SERVER_OWNED = 'is set by the API server; it is ignored.';

/** Fields that may be repeated but not changed. */
const fixedFields = new Map([
  ['apiVersion', IDENTITY],
  ['kind', IDENTITY],
]);
const fixedMetadata = new Map([
  ['name', IDENTITY],
  ['namespace', IDENTITY],
]);

/** Fields that must not be set. */
const foreignFields = new Map([['status', 'is written by the provider of the addresses; it is ignored.']]);
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
  ['ownerReferences', 'ties the Service to its Listener; it is ignored.'],
  ['finalizers', 'belongs to the program that will remove it, and would block the deletion of the Service; it is ignored.'],
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

/**
 * `null` would remove a part that holds protected or required fields. In YAML it often just means "nothing here", so it is
 * ignored.
 */
function withoutNull(value: Fields, keys: readonly string[]): Fields {
  return Object.fromEntries(Object.entries(value).filter(([key, item]) => item !== null || !keys.includes(key)));
}

/** Whether a value is empty at every level, as programs write unset fields (`status: {loadBalancer: {}}`). */
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

/** Formats a manifest's value for a message: one short line, quoted unless it is a plain name. */
function shown(value: unknown): string {
  if (typeof value !== 'string') return typeof value === 'object' ? 'an object' : String(value);
  return shownValue(value);
}

/** `at` may begin with a bracket. */
function join(path: string, at: string): string {
  return at.startsWith('[') ? path + at : `${path}.${at}`;
}
