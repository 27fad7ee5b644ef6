/** Options that every benchmark has, and how their values are read. All throw a TypeError that says which argument is wrong. */

export interface Destination {
  readonly json?: string;
  /** Destination of the figures; undefined: docs/benchmarks.md, but only figures of a whole run at full size. */
  readonly docs?: string;
}

const TEXT = { type: 'string' } as const;
export const COMMON = { only: TEXT, rounds: TEXT, idle: TEXT, json: TEXT, docs: TEXT, help: { type: 'boolean', default: false } } as const;

export const DESTINATION_USAGE = `  --json FILE         every sample, for programs
  --docs FILE         write the figures between that document's marks, whatever the sizes;
                      without it docs/benchmarks.md gets them, but only those of a whole run at full size`;

export function destination({ json, docs }: { readonly json?: string | undefined; readonly docs?: string | undefined }): Destination {
  return { ...(json === undefined ? {} : { json }), ...(docs === undefined ? {} : { docs }) };
}

/** A list of some of these names, in their order. */
export function some<Name extends string>(option: string, text: string, names: readonly Name[]): readonly Name[] {
  const asked = text.split(',').map((name) => name.trim());
  for (const name of asked) {
    if (!names.some((known) => known === name)) throw new TypeError(`${option} ${name}: there are ${names.join(', ')}`);
  }
  return names.filter((name) => asked.includes(name));
}

export function count(option: string, text: string | undefined, otherwise: number, least = 1): number {
  if (text === undefined) return otherwise;
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < least) throw new TypeError(`${option} ${text}: a whole number from ${least} on`);
  return number;
}
