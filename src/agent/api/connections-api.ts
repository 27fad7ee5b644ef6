/** Connections in the API of a router (pure). */
import { limitTable } from '../../limits/table.ts';
import type { RecordQuery, RecordsView, RecordState } from '../../router/contract.ts';

const STATES = ['open', 'ended', 'failed'] as const satisfies readonly RecordState[];
const LIMIT = 100;
const MOST = limitTable.recordsOfPage.value;

/** Versions begin with this, so that one from before a restart counts as different. */
export type Epoch = string;

/** @returns the query, or a sentence about the first parameter that is not valid */
export function connectionQuery(parameters: URLSearchParams, epoch: Epoch): RecordQuery | { readonly fault: string } {
  const unknown = [...parameters.keys()].find((name) => !NAMES.includes(name));
  if (unknown !== undefined) return { fault: `This path has no such parameter; it has ${NAMES.join(', ')}.` };
  const state = parameters.get('state') ?? 'open';
  if (!isState(state)) return { fault: `state must be one of ${STATES.join(', ')}.` };
  const numbers: Partial<Record<(typeof NUMBERS)[number], number>> = {};
  for (const name of NUMBERS) {
    const text = parameters.get(name);
    if (text === null) continue;
    const number = wholeNumber(text);
    if (number === undefined) return { fault: `${name} must be a whole number.` };
    numbers[name] = number;
  }
  const { limit = LIMIT, cursor, age, idle } = numbers;
  if (limit < 1 || limit > MOST) return { fault: `limit must be from 1 to ${MOST}.` };
  const texts = Object.fromEntries(TEXTS.flatMap((name) => (parameters.has(name) ? [[name, parameters.get(name) ?? '']] : [])));
  const after = sequenceOf(parameters.get('since'), epoch);
  return {
    ...texts,
    state,
    limit,
    ...(cursor === undefined ? {} : { cursor }),
    ...(age === undefined ? {} : { age: age * 1000 }),
    ...(idle === undefined ? {} : { idle: idle * 1000 }),
    ...(after === undefined ? {} : { after }),
  };
}

/** Answers a valid query. */
export function connectionList(records: RecordsView, query: RecordQuery, epoch: Epoch, asOf: string): object {
  const { items, next, total, latest } = records.list(query);
  return { asOf, version: `${epoch}-${latest}`, total, next: next === undefined ? null : String(next), items };
}

const TEXTS = ['id', 'key', 'site'] as const;
const NUMBERS = ['limit', 'cursor', 'age', 'idle'] as const;
const NAMES: readonly string[] = ['state', ...TEXTS, ...NUMBERS, 'since'];

const isState = (text: string): text is RecordState => STATES.some((state) => state === text);

function wholeNumber(text: string): number | undefined {
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

/** Number in a version; undefined for a version of another process, which selects all. */
export function sequenceOf(version: string | null, epoch: Epoch): number | undefined {
  return version?.startsWith(`${epoch}-`) === true ? wholeNumber(version.slice(epoch.length + 1)) : undefined;
}
