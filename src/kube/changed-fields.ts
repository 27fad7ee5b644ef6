/** Finds the fields of an object that something else changed, and the field manager that did it. Pure. */
import { isDeepStrictEqual } from 'node:util';
import { isRecord } from '../text/is-record.ts';
import { printable, quoted } from '../text/printable.ts';
import type { RepairReport } from '../work/repair-limiter.ts';
import type { KubeObject } from './objects.ts';

/** Path from an object to a field. List elements with names are `[NAME]`; other lists count as one field. */
export type FieldPath = readonly string[];

/** Maximum number of fields in a message. */
const MOST_FIELDS = 3;

/**
 * The first few fields of `wanted` that differ in `current`.
 * @param isSame compares two values of a field; `current` may have additional fields
 */
export function changedFields(
  current: unknown,
  desired: unknown,
  isSame: (current: unknown, desired: unknown, field?: string) => boolean = (one, other) => isDeepStrictEqual(one, other),
  field?: string,
): readonly FieldPath[] {
  if (isSame(current, desired, field)) return [];
  if (Array.isArray(desired) && Array.isArray(current)) {
    const inside = desired.every(isNamed)
      ? desired.flatMap((each) => {
          const found: unknown = current.find((one) => isNamed(one) && one.name === each.name);
          return changedFields(found, each, isSame).map((path) => [`[${each.name}]`, ...path]);
        })
      : [];
    return inside.length === 0 ? [[]] : inside.slice(0, MOST_FIELDS);
  }
  if (!isRecord(desired) || !isRecord(current)) return [[]];
  const found = Object.entries(desired).flatMap(([key, value]) =>
    value === undefined ? [] : changedFields(current[key], value, isSame, key).map((path) => [key, ...path]),
  );
  return found.length === 0 ? [[]] : found.slice(0, MOST_FIELDS);
}

/** Formats `spec.ports[http].port` and `metadata.labels["example.com/team"]`. */
export function formatField(path: FieldPath): string {
  const text = path
    .map((key, index) => (key.startsWith('[') ? key : PLAIN.test(key) ? `${index === 0 ? '' : '.'}${key}` : `["${key}"]`))
    .join('');
  return printable(text, 200);
}

/**
 * The manager that last wrote the field, else the one that last wrote the object.
 * @param isOurs whether a manager is this program
 */
export function managerOf({ metadata }: KubeObject, path: FieldPath, isOurs: (manager: string) => boolean): string | undefined {
  const others = (metadata.managedFields ?? [])
    .filter(isRecord)
    .filter(
      ({ manager, subresource }) =>
        typeof manager === 'string' && !isOurs(manager) && (subresource === undefined || path[0] === subresource),
    )
    .toSorted((one, other) => timeOf(other) - timeOf(one));
  const found = others.find(({ fieldsV1 }) => owns(fieldsV1, path)) ?? others[0];
  return typeof found?.['manager'] === 'string' ? printable(found['manager'], 128) : undefined;
}

/**
 * The report about an object that something else keeps changing back.
 * @param current the object with its `managedFields`; undefined if it was deleted
 */
export function repairReportOf(
  current: KubeObject | undefined,
  desired: unknown,
  isOurs: (manager: string) => boolean,
  isSame?: (current: unknown, desired: unknown) => boolean,
): RepairReport {
  if (current === undefined) return { fields: [] };
  const paths = changedFields(current, desired, isSame);
  const [first = []] = paths;
  const manager = managerOf(current, first, isOurs);
  return { fields: paths.map(formatField).filter((field) => field !== ''), ...(manager === undefined ? {} : { manager }) };
}

/** @param what kind and name of the object */
export function repairMessage(what: string, { fields, manager }: RepairReport): string {
  const by = manager === undefined ? 'another writer' : quoted(manager, 128);
  const which = fields.length === 0 ? '' : ` (${fields.join(', ')})`;
  return `${what} is reverted by ${by}${which}. It is repaired once a minute at most; stop the other writer, or change this resource.`;
}

function isNamed(value: unknown): value is { readonly name: string } {
  return isRecord(value) && typeof value['name'] === 'string';
}

/** Checks ownership along the path, as deep as the manager's fields go. */
function owns(fields: unknown, [key, ...rest]: FieldPath): boolean {
  if (key === undefined || !isRecord(fields)) return true;
  const field = fields[`f:${key}`];
  if (field === undefined) return false;
  return isRecord(field) && Object.keys(field).some((each) => each.startsWith('f:')) ? owns(field, rest) : true;
}

function timeOf({ time }: Readonly<Record<string, unknown>>): number {
  const parsed = typeof time === 'string' ? Date.parse(time) : Number.NaN;
  return Number.isNaN(parsed) ? 0 : parsed;
}

const PLAIN = /^[A-Za-z_][A-Za-z0-9_-]*$/;
