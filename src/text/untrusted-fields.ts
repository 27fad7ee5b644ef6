/** Reads fields of objects that are not trusted, such as answers of a router (pure). Text becomes safe to display. */
import { isRecord } from './is-record.ts';
import { printable } from './printable.ts';

export type UntrustedFields = Readonly<Record<string, unknown>>;

/** The fields of an object; none if the value is not an object. */
export const fieldsIn = (value: unknown): UntrustedFields => (isRecord(value) ? value : {});

/** @returns undefined if the field is not an object */
export function recordIn(fields: UntrustedFields, name: string): UntrustedFields | undefined {
  const value = fields[name];
  return isRecord(value) ? value : undefined;
}

/** The objects of a list; empty if the value is not a list. @param most number of objects to read */
export function recordsIn(value: unknown, most = Infinity): readonly UntrustedFields[] {
  return Array.isArray(value) ? value.slice(0, most).filter(isRecord) : [];
}

/** @param most number of characters to keep @returns undefined if the field is not a text */
export function textIn(fields: UntrustedFields, name: string, most: number): string | undefined {
  const text = fields[name];
  return typeof text === 'string' ? printable(text, most) : undefined;
}

/** @returns undefined if the field is not a finite number */
export function numberIn(fields: UntrustedFields, name: string): number | undefined {
  const number = fields[name];
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
}

type Defined<T> = { readonly [K in keyof T]?: Exclude<T[K], undefined> };

/** The object without the fields that are undefined. */
export function withoutUndefined<T extends object>(fields: T): Defined<T> {
  // Only undefined values were removed.
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<T>;
}
