/** Lists of connections and requests in the API of a router (pure). */
import { limitTable } from '../../limits/table.ts';
import type { RecordPage, RecordQuery, RecordState, RequestPage, RequestQuery } from '../../router/contract.ts';

const STATES = ['open', 'ended', 'failed'] as const satisfies readonly RecordState[];
const LIMIT = 100;
const MOST = limitTable.recordsOfPage.value;

/** Versions begin with this, so that one from before a restart counts as different. */
export type Epoch = string;

/** A sentence about the first parameter that is not valid. */
interface Fault {
  readonly fault: string;
}

/** @returns the query, or a fault */
export function connectionQuery(parameters: URLSearchParams, epoch: Epoch): RecordQuery | Fault {
  const read = readParameters(parameters, ['id', 'key', 'site'], ['limit', 'cursor', 'age', 'idle'], ['state']);
  if ('fault' in read) return read;
  const state = parameters.get('state') ?? 'open';
  if (!isState(state)) return { fault: `state must be one of ${STATES.join(', ')}.` };
  const { age, idle } = read.numbers;
  return {
    ...read.texts,
    state,
    ...pageOf(read.numbers, parameters, epoch),
    ...(age === undefined ? {} : { age: age * 1000 }),
    ...(idle === undefined ? {} : { idle: idle * 1000 }),
  };
}

/** @returns the query, or a fault */
export function requestQuery(parameters: URLSearchParams, epoch: Epoch): RequestQuery | Fault {
  const read = readParameters(parameters, ['key', 'connection'], ['limit', 'cursor'], []);
  return 'fault' in read ? read : { ...read.texts, ...pageOf(read.numbers, parameters, epoch) };
}

interface Parameters<T extends string, N extends string> {
  readonly texts: Readonly<Partial<Record<T, string>>>;
  readonly numbers: Readonly<Partial<Record<N, number>>>;
}

function readParameters<T extends string, N extends string>(
  parameters: URLSearchParams,
  texts: readonly T[],
  numbers: readonly (N | 'limit')[],
  others: readonly string[],
): Parameters<T, N | 'limit'> | Fault {
  const names: readonly string[] = [...others, ...texts, ...numbers, 'since'];
  const unknown = [...parameters.keys()].find((name) => !names.includes(name));
  if (unknown !== undefined) return { fault: `This path has no such parameter; it has ${names.join(', ')}.` };
  const found: { texts: Partial<Record<T, string>>; numbers: Partial<Record<N | 'limit', number>> } = { texts: {}, numbers: {} };
  for (const name of texts) {
    const text = parameters.get(name);
    if (text !== null) found.texts[name] = text;
  }
  for (const name of numbers) {
    const text = parameters.get(name);
    if (text === null) continue;
    const number = wholeNumber(text);
    if (number === undefined) return { fault: `${name} must be a whole number.` };
    found.numbers[name] = number;
  }
  const { limit = LIMIT } = found.numbers;
  return limit < 1 || limit > MOST ? { fault: `limit must be from 1 to ${MOST}.` } : found;
}

function pageOf(
  { limit = LIMIT, cursor }: { readonly limit?: number; readonly cursor?: number },
  parameters: URLSearchParams,
  epoch: Epoch,
): Pick<RecordQuery, 'limit' | 'cursor' | 'after'> {
  const after = sequenceOf(parameters.get('since'), epoch);
  return { limit, ...(cursor === undefined ? {} : { cursor }), ...(after === undefined ? {} : { after }) };
}

/** Answer to a valid query. */
export function pageAnswer({ items, next, total, latest }: RecordPage | RequestPage, epoch: Epoch, asOf: string): object {
  return { asOf, version: `${epoch}-${latest}`, total, next: next === undefined ? null : String(next), items };
}

const isState = (text: string): text is RecordState => STATES.some((state) => state === text);

function wholeNumber(text: string): number | undefined {
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

/** Number in a version; undefined for a version of another process, which selects all. */
export function sequenceOf(version: string | null, epoch: Epoch): number | undefined {
  return version?.startsWith(`${epoch}-`) === true ? wholeNumber(version.slice(epoch.length + 1)) : undefined;
}
