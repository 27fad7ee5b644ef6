/** Connections of all routers of a site, merged by their ID. */
import { limitTable } from '../limits/table.ts';
import { messageOf } from '../telemetry/log.ts';
import { isRecord } from '../text/is-record.ts';
import { printable } from '../text/printable.ts';
import { connectionStates, type ConnectionState, type ConnectionView, type ListView, type Missing } from './contract.ts';
import type { ConsoleSources } from './sources.ts';

/** Parameters of the router API that a client of the console may give. */
const FILTERS = ['key', 'site', 'age', 'idle'] as const;
const LIMIT = 200;

/** The cursor has that of each router, as a query: `router=12&second=7`. Routers without one have no further connections. */
export async function listConnections(sources: ConsoleSources, parameters: URLSearchParams): Promise<ListView<ConnectionView>> {
  const wanted = parameters.get('state') ?? 'open';
  const state = connectionStates.find((each) => each === wanted) ?? 'open';
  const cursors = parameters.has('cursor') ? new URLSearchParams(parameters.get('cursor') ?? '') : undefined;
  const routers = (await sources.routers()).filter((router) => cursors === undefined || cursors.has(router));
  const limit = Math.min(LIMIT, limitTable.recordsOfPage.value);
  const partial: Missing[] = [];
  const pages = await Promise.all(
    routers.map(async (router) => {
      const query = new URLSearchParams({ state, limit: String(limit) });
      for (const name of FILTERS) {
        const value = parameters.get(name);
        if (value !== null) query.set(name, value);
      }
      const cursor = cursors?.get(router);
      if (cursor !== undefined && cursor !== null) query.set('cursor', cursor);
      try {
        return { router, ...readPage(await sources.ask(router, `/v1/connections?${query.toString()}`), state) };
      } catch (error) {
        partial.push({ router, why: printable(messageOf(error), 512) });
        return { router, items: [], total: 0, next: undefined };
      }
    }),
  );
  const next = new URLSearchParams(pages.flatMap((page) => (page.next === undefined ? [] : [[page.router, page.next]])));
  return {
    items: mergeHalves(pages.flatMap(({ items }) => items)),
    next: next.size === 0 ? null : next.toString(),
    total: pages.reduce((sum, { total }) => sum + total, 0),
    asOf: new Date(sources.now()).toISOString(),
    partial,
  };
}

interface Page {
  readonly items: readonly ConnectionView[];
  readonly total: number;
  readonly next: string | undefined;
}

function readPage(answer: unknown, state: ConnectionState): Page {
  const { items, total, next } = isRecord(answer) ? { items: answer['items'], total: answer['total'], next: answer['next'] } : {};
  return {
    items: (Array.isArray(items) ? items : []).filter(isRecord).map((item) => readConnection(item, state)),
    total: typeof total === 'number' ? total : 0,
    next: typeof next === 'string' ? next : undefined,
  };
}

type Fields = Readonly<Record<string, unknown>>;

const fieldsIn = (value: unknown): Fields => (isRecord(value) ? value : {});
const shown = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? printable(value, 512) : undefined);
const finite = (value: unknown): number | undefined => (typeof value === 'number' && Number.isFinite(value) ? value : undefined);

function readConnection(item: Fields, state: ConnectionState): ConnectionView {
  const [from, to, bytes, ms] = ['from', 'to', 'bytes', 'ms'].map((name) => fieldsIn(item[name]));
  const optional = {
    ended: shown(item['ended']),
    client: shown(from?.['client']),
    listener: shown(from?.['listener']),
    to: shown(to?.['siteName']) ?? shown(to?.['site']),
    server: shown(to?.['server']),
    up: finite(bytes?.['up']),
    down: finite(bytes?.['down']),
    connect: finite(ms?.['connect']),
    firstByte: finite(ms?.['firstByte']),
    end: shown(item['end']),
    message: shown(item['message']),
  };
  return {
    id: shown(item['id']) ?? '',
    key: shown(item['key']) ?? '',
    state,
    begun: shown(item['begun']) ?? '',
    from: shown(from?.['siteName']) ?? shown(from?.['site']) ?? '',
    via: textsIn(item['via']),
    halves: textsIn(item['halves']),
    of: finite(item['of']) ?? 1,
    ...withoutUnknown(optional),
  };
}

const textsIn = (value: unknown): readonly string[] => (Array.isArray(value) ? value.flatMap((each) => shown(each) ?? []) : []);

type Known<T> = { readonly [K in keyof T]?: Exclude<T[K], undefined> };

function withoutUnknown<T extends object>(fields: T): Known<T> {
  // Only fields that are undefined are removed.
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Known<T>;
}

/** Two routers of a site may be the first and the last of one connection. The client is known to the first, the server to the last. */
export function mergeHalves(items: readonly ConnectionView[]): readonly ConnectionView[] {
  const found = new Map<string, ConnectionView>();
  for (const item of items) {
    const known = found.get(item.id);
    const [first, other] = known?.halves.includes('first') === true ? [known, item] : [item, known];
    found.set(
      item.id,
      known === undefined ? item : { ...other, ...first, halves: [...new Set([...first.halves, ...(other?.halves ?? [])])] },
    );
  }
  return [...found.values()].toSorted((one, another) => (one.begun < another.begun ? 1 : -1));
}
