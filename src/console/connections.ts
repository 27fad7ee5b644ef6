/** Connections of all routers of a site, merged by their ID. */
import { limitTable } from '../limits/table.ts';
import { messageOf } from '../telemetry/log.ts';
import type { ConnectionRecord } from '../router/contract.ts';
import { HALVES, mergeRecords } from '../router/records/merge-records.ts';
import { printable } from '../text/printable.ts';
import { fieldsIn, numberIn, recordsIn, textIn, withoutUndefined, type UntrustedFields } from '../text/untrusted-fields.ts';
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
    items: mergeRecords(pages.flatMap(({ items }) => items))
      .map(viewOf)
      .toSorted((one, another) => (one.begun < another.begun ? 1 : -1)),
    next: next.size === 0 ? null : next.toString(),
    total: pages.reduce((sum, { total }) => sum + total, 0),
    asOf: new Date(sources.now()).toISOString(),
    partial,
  };
}

interface Page {
  readonly items: readonly ConnectionRecord[];
  readonly total: number;
  readonly next: string | undefined;
}

function readPage(answer: unknown, state: ConnectionState): Page {
  const fields = fieldsIn(answer);
  return {
    items: recordsIn(fields['items']).map((item) => readRecord(item, state)),
    total: numberIn(fields, 'total') ?? 0,
    next: typeof fields['next'] === 'string' ? fields['next'] : undefined,
  };
}

/** A record as the router API has it, with bounded text. */
function readRecord(item: UntrustedFields, state: ConnectionState): ConnectionRecord {
  const { from, to, bytes, ms } = item;
  const site = (end: unknown) => ({ site: shown(fieldsIn(end), 'site'), siteName: shown(fieldsIn(end), 'siteName') });
  return {
    id: shown(item, 'id') ?? '',
    key: shown(item, 'key') ?? '',
    state,
    begun: shown(item, 'begun') ?? '',
    ended: shown(item, 'ended'),
    idle: numberIn(item, 'idle') ?? null,
    from: { ...site(from), client: shown(fieldsIn(from), 'client'), listener: shown(fieldsIn(from), 'listener') },
    via: textsIn(item['via']),
    to: { ...site(to), router: shown(fieldsIn(to), 'router'), server: shown(fieldsIn(to), 'server') },
    bytes: { up: numberIn(fieldsIn(bytes), 'up') ?? 0, down: numberIn(fieldsIn(bytes), 'down') ?? 0 },
    ms: { connect: numberIn(fieldsIn(ms), 'connect') ?? null, firstByte: numberIn(fieldsIn(ms), 'firstByte') ?? null },
    // A newer router may have further codes, which are shown as they are.
    end: shown(item, 'end') as ConnectionRecord['end'],
    message: shown(item, 'message'),
    halves: HALVES.filter((half) => textsIn(item['halves']).includes(half)),
    of: numberIn(item, 'of') ?? 1,
  };
}

/** Null for an empty text too. */
const shown = (fields: UntrustedFields, name: string): string | null => textIn(fields, name, MOST_CHARACTERS) || null;

const MOST_CHARACTERS = 512;

const textsIn = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.flatMap((each) => (typeof each === 'string' ? printable(each, MOST_CHARACTERS) : [])) : [];

function viewOf({ id, key, state, begun, from, via, to, bytes, ms, halves, of, ...record }: ConnectionRecord): ConnectionView {
  return {
    id,
    key,
    state,
    begun,
    from: from.siteName ?? from.site ?? '',
    via,
    halves,
    of,
    ...withoutUndefined({
      ended: record.ended ?? undefined,
      client: from.client ?? undefined,
      listener: from.listener ?? undefined,
      to: to.siteName ?? to.site ?? undefined,
      server: to.server ?? undefined,
      up: bytes.up,
      down: bytes.down,
      connect: ms.connect ?? undefined,
      firstByte: ms.firstByte ?? undefined,
      end: record.end ?? undefined,
      message: record.message ?? undefined,
    }),
  };
}
