/**
 * Computes the patch from an existing Service to the intended one: a three-way merge of last applied, intended and live fields.
 * Pure. Why not server-side apply: docs/adr/0007-create-then-merge.md.
 */
import { INTENT_ANNOTATION } from '../../api/listeners/names.ts';
import type { Service, ServicePort } from '../../kube/objects.ts';
import { isRecord } from '../../text/is-record.ts';

/** Field names, nested as in the object; lists and single values are leaves. */
type FieldSet = { readonly [field: string]: FieldSet | 1 };

type Json = Readonly<Record<string, unknown>>;

/** Maximum depth, deeper than any Service. Everything below counts as one value. */
const DEEPEST = 8;

/**
 * Records the set fields in an annotation of the Service. A later reconcile, even in another process, uses it to remove fields
 * that are no longer desired and to keep those of other writers.
 */
export function recordIntent(service: Service): Service {
  const { metadata, spec } = service;
  const { [INTENT_ANNOTATION]: _recorded, ...annotations } = metadata.annotations ?? {};
  const fields = fieldsOf({
    metadata: { labels: metadata.labels ?? {}, annotations },
    // A merge patch replaces a list as one value. The fields recorded for each port show whether it must be written again.
    spec: {
      ...spec,
      ...(spec?.ports === undefined ? {} : { ports: Object.fromEntries(spec.ports.map((port) => [identityOf(port), port])) }),
    },
  });
  return { ...service, metadata: { ...metadata, annotations: { ...annotations, [INTENT_ANNOTATION]: JSON.stringify(fields) } } };
}

/** Whether the record contains this field of the spec. */
export function wasSet(live: Service, field: string): boolean {
  return Object.hasOwn(subset(recordedFields(live), 'spec'), field);
}

/** Whether the Service must be written. Fields that other writers added are kept, but the selector is compared as one value. */
export function differs(intended: Service, live: Service): boolean {
  return !contains(live, intended) || !sameKeys(intended.spec?.selector, live.spec?.selector);
}

/** RFC 7386 merge patch. The UID makes it fail on a new object of the same name. */
export function patchFor(intended: Service, live: Service): Json {
  const { metadata, spec } = intended;
  const before = recordedFields(live);
  const labels = { ...removals(subset(before, 'metadata', 'labels'), metadata.labels), ...metadata.labels };
  const annotations = { ...removals(subset(before, 'metadata', 'annotations'), metadata.annotations), ...metadata.annotations };
  return {
    metadata: {
      ...(live.metadata.uid === undefined ? {} : { uid: live.metadata.uid }),
      labels,
      annotations,
      ownerReferences: withOwners(intended, live),
    },
    spec: {
      ...merged(subset(before, 'spec'), spec ?? {}),
      ...(spec?.selector === undefined ? {} : { selector: { ...removals(live.spec?.selector ?? {}, spec.selector), ...spec.selector } }),
      ...(spec?.ports === undefined ? {} : { ports: withNodePorts(inPlace(spec.ports, live), live, spec.type) }),
    },
  };
}

/** Keeps owners that other writers added. */
function withOwners(intended: Service, live: Service): readonly unknown[] {
  const ours = intended.metadata.ownerReferences ?? [];
  const uids = new Set(ours.map(({ uid }) => uid));
  return [...(live.metadata.ownerReferences ?? []).filter(({ uid }) => !uids.has(uid)), ...ours];
}

/** A merge patch replaces the list. Existing ports keep their positions, because scripts read the first one; new ports follow. */
function inPlace(ports: readonly ServicePort[], live: Service): readonly ServicePort[] {
  const places = new Map((live.spec?.ports ?? []).map((port, place) => [identityOf(port), place]));
  const placeOf = (port: ServicePort): number => places.get(identityOf(port)) ?? places.size;
  return ports.toSorted((one, other) => placeOf(one) - placeOf(other));
}

/** Keeps node ports that clients know. */
function withNodePorts(ports: readonly ServicePort[], live: Service, type: string | undefined): readonly ServicePort[] {
  if (type !== 'NodePort' || live.spec?.type !== 'NodePort') return ports;
  const numbers = new Map((live.spec.ports ?? []).map((port) => [identityOf(port), port.nodePort]));
  return ports.map((port) => {
    const nodePort = port.nodePort ?? numbers.get(identityOf(port));
    return nodePort === undefined ? port : { ...port, nodePort };
  });
}

function identityOf({ port, protocol = 'TCP' }: ServicePort): string {
  return `${port}/${protocol}`;
}

/** `wanted` plus null for each field that was set before and is no longer desired. */
function merged(before: FieldSet, desired: Json): Json {
  const nested = Object.entries(before).flatMap(([field, inner]): [string, unknown][] => {
    const value = Object.hasOwn(desired, field) ? desired[field] : undefined;
    if (value === undefined) return [[field, null]];
    return inner !== 1 && isRecord(value) ? [[field, merged(inner, value)]] : [];
  });
  return { ...desired, ...Object.fromEntries(nested) };
}

function removals(before: Json, desired: Json = {}): Readonly<Record<string, null>> {
  const obsolete = Object.keys(before).filter((key) => !Object.hasOwn(desired, key));
  return Object.fromEntries(obsolete.map((key) => [key, null]));
}

/** Reads the annotation. Any user who may write Services can change it, so it can affect only labels, annotations and spec. */
function recordedFields(live: Service): FieldSet {
  try {
    const recorded: unknown = JSON.parse(live.metadata.annotations?.[INTENT_ANNOTATION] ?? '{}');
    return isRecord(recorded) ? fieldsOf(recorded) : {};
  } catch {
    return {};
  }
}

function subset(fields: FieldSet, ...path: readonly string[]): FieldSet {
  let inner: FieldSet | 1 | undefined = fields;
  for (const field of path) inner = typeof inner === 'object' && Object.hasOwn(inner, field) ? inner[field] : undefined;
  return typeof inner === 'object' ? inner : {};
}

function fieldsOf(value: Json, depth = 0): FieldSet {
  const isNested = (field: string, item: unknown): item is Json => isRecord(item) && field !== 'selector' && depth < DEEPEST;
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([field, item]) => [field, isNested(field, item) ? fieldsOf(item, depth + 1) : 1]));
}

/**
 * Whether `whole` contains every value of `part`. Empty maps and lists, and false, count as absent, because the API server omits
 * them.
 */
function contains(whole: unknown, part: unknown): boolean {
  if (part === false) return whole === false || whole === undefined;
  if (Array.isArray(part)) {
    if (part.length === 0) return true;
    if (!Array.isArray(whole)) return false;
    if (part.every((item) => isRecord(item))) return containsAll(whole, part);
    return whole.length === part.length && part.every((item, index) => contains(whole[index], item));
  }
  if (isRecord(part)) {
    const entries = Object.entries(part);
    if (entries.length === 0) return true;
    if (!isRecord(whole)) return false;
    return entries.every(([key, value]) => contains(Object.hasOwn(whole, key) ? whole[key] : undefined, value));
  }
  return whole === part;
}

/** Ports are found by number and protocol, and owners by UID: comparing all of a long list with each other would take seconds. */
function containsAll(whole: readonly unknown[], part: readonly Json[]): boolean {
  const byKey = Map.groupBy(whole, keyOf);
  return part.every((item) => {
    const key = keyOf(item);
    return (key === undefined ? whole : (byKey.get(key) ?? [])).some((other) => contains(other, item));
  });
}

function keyOf(item: unknown): unknown {
  if (!isRecord(item)) return undefined;
  const { port, protocol = 'TCP', uid } = item;
  return port === undefined ? uid : `${String(port)}/${String(protocol)}`;
}

function sameKeys(a: Json = {}, b: Json = {}): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key));
}
