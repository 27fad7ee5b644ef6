import { visibleJson } from './printable.ts';

/**
 * Writes plain data as readable YAML 1.2 that YAML 1.1 parsers interpret in the same way. The library takes five to eight times
 * as long (0.24 ms and more for a status). Statuses are written on the thread that carries connections.
 */
export function writeYaml(value: unknown): string {
  return [...yamlParts(value)].join('');
}

/** The same in parts, none longer than an item of an outermost list. For long values that should not be written at once. */
export function* yamlParts(value: unknown): Generator<string, undefined> {
  if (isBlock(value)) yield* partsOf(value, 0);
  else yield `${scalar(value)}\n`;
}

type Entries = readonly (readonly [string, unknown])[];

function entriesOf(value: object): Entries {
  return Object.entries(value).filter(([, field]) => field !== undefined);
}

function isBlock(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  return Array.isArray(value) ? value.length > 0 : entriesOf(value).length > 0;
}

function* partsOf(value: object, depth: number): Generator<string, undefined> {
  const pad = '  '.repeat(depth);
  if (Array.isArray(value)) {
    for (const item of value as readonly unknown[])
      yield isBlock(item) ? `${pad}- ${block(item, depth + 1).slice(pad.length + 2)}` : `${pad}- ${scalar(item, depth + 1)}\n`;
    return;
  }
  for (const [key, field] of entriesOf(value)) {
    const name = `${pad}${text(key)}:`;
    if (isBlock(field)) {
      yield `${name}\n`;
      yield* partsOf(field, Array.isArray(field) ? depth : depth + 1);
    } else yield `${name} ${scalar(field, depth + 1)}\n`;
  }
}

function block(value: object, depth: number): string {
  return [...partsOf(value, depth)].join('');
}

function scalar(value: unknown, depth = 0): string {
  if (value === null || value === undefined) return 'null';
  if (typeof value === 'string') return isLiteral(value) ? literal(value, depth) : text(value);
  if (typeof value === 'object') return Array.isArray(value) ? '[]' : '{}';
  return String(value);
}

/** Whether it can be a literal block: lines of plain ASCII, such as a certificate. */
function isLiteral(value: string): boolean {
  return value.length > 80 && /^[!-~](?:[ -~]*\n)+$/.test(value) && !value.endsWith('\n\n');
}

function literal(value: string, depth: number): string {
  const pad = '  '.repeat(depth);
  return `|\n${value
    .slice(0, -1)
    .split('\n')
    .map((line) => (line === '' ? '' : pad + line))
    .join('\n')}`;
}

/** Words that are not strings without quotes, including those of YAML 1.1 parsers. */
const NOT_TEXT = /^(?:y|n|yes|no|on|off|true|false|null|~)$/i;

function text(value: string): string {
  const bare =
    /^[A-Za-z_/][\w./@%+-]*(?:[ :=](?=[\w"'/([])[\w./@%+"'()[\]-]*)*$/.test(value) && !/: |:$/.test(value) && !NOT_TEXT.test(value);
  if (bare && value.length < 200) return value;
  // A JSON text is a double-quoted scalar.
  return visibleJson(value);
}
