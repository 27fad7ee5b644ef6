import { fieldPath } from '../../text/field-path.ts';
import { isRecord } from '../../text/is-record.ts';
import { MOST_PORTS } from './port-names.ts';
/**
 * Merges part of a Service over a Service as Kubernetes does. Pure, and safe with any JSON. It recurses as deep as the override,
 * so its caller bounds the depth.
 *
 * - Objects merge by field, and maps (labels, annotations) by key.
 * - `spec.ports` merges by `port`, or by `port` and `protocol` (default TCP) if a list has several ports of one number. New ports
 *   are added at the end.
 * - `metadata.ownerReferences` merges by `uid`.
 * - `spec.selector` is replaced as a whole (`x-kubernetes-map-type: atomic`), as are all other lists.
 * - `null` removes the field (RFC 7386, as in `kubectl patch`).
 * - A value of another type than the one it would replace is left out and reported. So one mistake does not remove the Service's
 *   labels or ports.
 *
 * Source: merge keys and map types of Service in Kubernetes' OpenAPI document (`x-kubernetes-list-map-keys`,
 * `x-kubernetes-patch-merge-key`, `x-kubernetes-map-type`). Server-side apply identifies a port by `port` and `protocol`, patches
 * by `port`. Users who write one port with another protocol mean the latter.
 */
export function mergeService(base: object, override: object, report: Report = () => {}): Readonly<Record<string, unknown>> {
  return mergeFields({ ...base }, { ...override }, serviceRule, '', report);
}

/** Called for each part of an override that cannot be merged, at most once per field. */
export type Report = (path: string, message: string) => void;

export type Fields = Readonly<Record<string, unknown>>;

/** How the values of one field merge. By default objects merge by field, and everything else is replaced. */
type Rule =
  | { readonly kind: 'fields'; readonly of: ReadonlyMap<string, Rule> }
  | { readonly kind: 'atomic' }
  | { readonly kind: 'keyed'; readonly identify: (lists: readonly (readonly unknown[])[]) => Identity; readonly keys: string };

/** Merge key of a list item, or undefined if it has none. */
type Identity = (item: unknown) => string | undefined;

const fields = (of: Readonly<Record<string, Rule>> = {}): Rule => ({ kind: 'fields', of: new Map(Object.entries(of)) });

const unruled = fields();

const serviceRule = fields({
  metadata: fields({ ownerReferences: { kind: 'keyed', identify: () => byUid, keys: 'a uid' } }),
  spec: fields({ selector: { kind: 'atomic' }, ports: { kind: 'keyed', identify: byPort, keys: 'a port, a whole number' } }),
});

function byUid(item: unknown): string | undefined {
  return isRecord(item) && typeof item['uid'] === 'string' ? item['uid'] : undefined;
}

function byPort(lists: readonly (readonly unknown[])[]): Identity {
  const shared = new Set(lists.flatMap((list) => repeated(list.map(portNumber))));
  return (item) => {
    const port = portNumber(item);
    if (port === undefined || !isRecord(item)) return undefined;
    return shared.has(port) ? `${port}/${String(item['protocol'] ?? 'TCP')}` : String(port);
  };
}

function portNumber(item: unknown): number | undefined {
  const port = isRecord(item) ? item['port'] : undefined;
  return Number.isInteger(port) ? Number(port) : undefined;
}

function repeated<T>(values: readonly T[]): readonly T[] {
  const seen = new Set<T>();
  return values.filter((value) => seen.has(value) || !seen.add(value));
}

function mergeFields(base: Fields, override: Fields, rule: Rule, path: string, report: Report): Fields {
  const merged = new Map(Object.entries(base));
  for (const [key, value] of Object.entries(override)) {
    const at = fieldPath(path, key);
    if (key === '__proto__') report(at, 'is not the name of a field, label or annotation; it is ignored.');
    else if (value === null) merged.delete(key);
    else if (value !== undefined) {
      const next = mergeValue(merged.get(key), value, (rule.kind === 'fields' ? rule.of.get(key) : undefined) ?? unruled, at, report);
      if (next !== undefined) merged.set(key, next);
    }
  }
  // fromEntries defines own properties, so no key can modify a prototype.
  return Object.fromEntries(merged);
}

function mergeValue(base: unknown, override: unknown, rule: Rule, path: string, report: Report): unknown {
  const expected = shapeOf(base) ?? ruledShape(rule);
  const given = shapeOf(override);
  if (expected !== undefined && given !== expected) {
    report(path, `must be ${expected}, not ${given}; it is ignored.`);
    return base;
  }
  if (rule.kind === 'keyed') return mergeList(Array.isArray(base) ? base : [], Array.isArray(override) ? override : [], rule, path, report);
  if (!isRecord(override)) return override;
  return mergeFields(rule.kind === 'fields' && isRecord(base) ? base : {}, override, rule, path, report);
}

function mergeList(
  base: readonly unknown[],
  override: readonly unknown[],
  rule: Extract<Rule, { kind: 'keyed' }>,
  path: string,
  report: Report,
): readonly unknown[] {
  const identify = rule.identify([base, override]);
  const merged = [...base];
  const positions = new Map<string, number>();
  for (const [position, item] of base.entries()) {
    const key = identify(item);
    if (key !== undefined && !positions.has(key)) positions.set(key, position);
  }
  for (const [index, item] of override.entries()) {
    const at = `${path}[${index}]`;
    const key = identify(item);
    if (key === undefined || !isRecord(item)) {
      report(at, `needs ${rule.keys}, which identifies the entry; it is ignored.`);
      continue;
    }
    const position = positions.get(key) ?? merged.length;
    if (position >= MOST_PORTS) {
      report(at, `comes after ${MOST_PORTS} others; it is ignored.`);
      continue;
    }
    positions.set(key, position);
    const before = merged[position];
    merged[position] = mergeFields(isRecord(before) ? before : {}, item, unruled, at, report);
  }
  return merged;
}

type Shape = 'an object' | 'a list' | 'a single value';

function ruledShape(rule: Rule): Shape | undefined {
  if (rule.kind === 'keyed') return 'a list';
  return rule.kind === 'atomic' || rule.of.size > 0 ? 'an object' : undefined;
}

function shapeOf(value: unknown): Shape | undefined {
  if (value === undefined || value === null) return undefined;
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : 'a single value';
}
