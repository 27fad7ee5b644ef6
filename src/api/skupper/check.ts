/** Checks a value against a structural schema (see ../crd.ts). Supports the keywords that our schemas use. */
import type { Structural } from '../crd.ts';
import { parseDuration } from './duration.ts';
import { fieldPath } from '../../text/field-path.ts';
import { isRecord } from '../../text/is-record.ts';
import { didYouMean } from '../../text/nearest.ts';
import { quoted } from '../../text/printable.ts';

/** A problem in a resource, and its location. */
export interface ResourceProblem {
  /** Severity. With only warnings the resource is valid; a field with a warning has no effect. */
  readonly severity: 'error' | 'warning';
  /** Field path such as `spec.ports[0].name`; empty for the whole resource. */
  readonly path: string;
  /** A predicate about the field, such as `must be …`. Never contains the value of a secret. */
  readonly message: string;
}

export type Report = (problem: ResourceProblem) => void;

/** Maximum number of entries in a list or map, and of characters in a text, unless the schema sets a limit. */
const limits = { entries: 4096, characters: 262_144 };

/** @returns the value without unknown fields and with defaults, or undefined if it is invalid (the problem has been reported) */
export function checkValue(shape: Structural, value: unknown, path: string, report: Report): unknown {
  const wrong = (message: string) => void report({ severity: 'error', path, message });
  switch (shape.type) {
    case 'object': {
      if (!isRecord(value)) return wrong(`must be a map, not ${nameOf(value)}`);
      const { additionalProperties: values } = shape;
      return values === undefined ? checkFields(shape, value, path, report) : checkMap(shape, values, value, path, report);
    }
    case 'array':
      return Array.isArray(value) ? checkList(shape, value, path, report) : wrong(`must be a list, not ${nameOf(value)}`);
    case 'boolean':
      return typeof value === 'boolean' ? value : wrong(`must be true or false, without quotes, not ${nameOf(value)}`);
    case 'integer':
      if (Number.isSafeInteger(value) && inRange(shape, Number(value))) return value;
      return wrong(`must be a whole number${rangeOf(shape)}, not ${shown(value)}`);
    case 'string':
      if (typeof value === 'string') return checkText(shape, value, wrong);
      return wrong(`must be text, not ${nameOf(value)}${isScalar(value) ? ': put it in quotes' : ''}`);
    default:
      throw new Error(`a schema with the type ${shape.type} at ${path}: teach checkValue about it`);
  }
}

function checkFields(shape: Structural, value: object, path: string, report: Report): unknown {
  const known = shape.properties ?? {};
  const names = Object.keys(known);
  const result: [string, unknown][] = [];
  for (const [key, field] of Object.entries(value)) {
    const fieldShape = Object.hasOwn(known, key) ? known[key] : undefined;
    if (fieldShape === undefined) report(unknownField(key, names, path));
    // As in the API server: null in a field that is not nullable counts as absent.
    else if (field !== null && field !== undefined) result.push([key, checkValue(fieldShape, field, `${path}.${key}`, report)]);
  }
  const given = new Set(result.map(([key]) => key));
  for (const name of names) {
    if (given.has(name)) continue;
    const fallback = known[name]?.default;
    if (fallback !== undefined) result.push([name, structuredClone(fallback)]);
    else if (shape.required?.includes(name) === true) report({ severity: 'error', path: `${path}.${name}`, message: 'must be given' });
  }
  for (const { rule, message } of shape['x-kubernetes-validations'] ?? []) {
    const [, a, b] = EXACTLY_ONE.exec(rule) ?? [];
    if (a !== undefined && b !== undefined && given.has(a) === given.has(b)) report({ severity: 'error', path, message });
  }
  return Object.fromEntries(result);
}

/** Rules that can be checked without CEL and without an earlier version of the object, see `parts.ts`. */
export const NOT_BEGINNING = /^!self\.startsWith\('([^'\\]+)'\)$/;
export const EXACTLY_ONE = /^has\(self\.(\w+)\) != has\(self\.(\w+)\)$/;

function unknownField(key: string, names: readonly string[], path: string): ResourceProblem {
  const advice = didYouMean(key, names);
  const known = advice === '' ? `; known are ${names.join(', ')}` : advice;
  return { severity: 'warning', path: fieldPath(path, key), message: `is not known here and has no effect${known}` };
}

function checkMap(shape: Structural, values: Structural, value: object, path: string, report: Report): unknown {
  const entries = Object.entries(value);
  if (!countFits(entries.length, shape.minProperties, shape.maxProperties, path, report)) return undefined;
  return Object.fromEntries(entries.map(([key, entry]) => [key, checkValue(values, entry, fieldPath(path, key), report)]));
}

function checkList(shape: Structural, value: readonly unknown[], path: string, report: Report): unknown {
  if (!countFits(value.length, shape.minItems, shape.maxItems, path, report)) return undefined;
  const { items = {} } = shape;
  const checked = value.map((item, index) => checkValue(items, item, `${path}[${index}]`, report));
  if (shape['x-kubernetes-list-type'] === 'set' && new Set(checked).size < checked.length) {
    report({ severity: 'error', path, message: 'must not hold the same entry twice' });
  }
  return checked;
}

function countFits(count: number, least = 0, most = limits.entries, path: string, report: Report): boolean {
  if (count >= least && count <= most) return true;
  report({ severity: 'error', path, message: `must have ${least} to ${most} entries, not ${count}` });
  return false;
}

function checkText(shape: Structural, value: string, wrong: (message: string) => undefined): string | undefined {
  const { minLength: least = 0, maxLength: most = limits.characters, enum: words, pattern, format } = shape;
  if (words !== undefined) return words.includes(value) ? value : wrong(`must be one of ${words.join(', ')}, not ${quoted(value)}`);
  if (value.length < least) return wrong(value === '' ? 'must not be empty' : `must have at least ${least} characters`);
  if (value.length > most) return wrong(`must have at most ${most} characters, not ${value.length}`);
  if (pattern !== undefined && !new RegExp(pattern).test(value)) {
    return wrong(`must be ${patternNames[pattern] ?? `like ${pattern}`}, not ${quoted(value)}`);
  }
  for (const { rule, message } of shape['x-kubernetes-validations'] ?? []) {
    const [, beginning] = NOT_BEGINNING.exec(rule) ?? [];
    if (beginning !== undefined && value.startsWith(beginning)) return wrong(message);
  }
  if (format === 'duration' && parseDuration(value) === undefined) {
    return wrong(`must be a length of time like 15m or 1h30m, not ${quoted(value)}`);
  }
  return value;
}

const patternNames: Readonly<Record<string, string>> = { '^[!-~]+$': 'letters, digits and signs of ASCII without spaces' };

function inRange({ format, minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY }: Structural, value: number): boolean {
  return value >= minimum && value <= maximum && (format !== 'int32' || (value | 0) === value);
}

function rangeOf({ minimum, maximum }: Structural): string {
  if (minimum === undefined) return '';
  return maximum === undefined ? ` from ${minimum}` : ` from ${minimum} to ${maximum}`;
}

function isScalar(value: unknown): boolean {
  return typeof value === 'number' || typeof value === 'boolean';
}

function shown(value: unknown): string {
  return typeof value === 'number' ? String(value) : typeof value === 'string' ? `the text ${quoted(value)}` : nameOf(value);
}

function nameOf(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  const names: Readonly<Record<string, string>> = { string: 'text', number: 'a number', boolean: 'true or false', object: 'a map' };
  return names[typeof value] ?? typeof value;
}
