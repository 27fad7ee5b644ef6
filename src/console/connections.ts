/** Connections of all routers of a site, merged by their ID. */
import type { ConnectionRecord } from '../router/contract.ts';
import { HALVES, mergeRecords } from '../router/records/merge-records.ts';
import { printable } from '../text/printable.ts';
import { fieldsIn, numberIn, textIn, withoutUndefined, type UntrustedFields } from '../text/untrusted-fields.ts';
import { connectionStates, type ConnectionState, type ConnectionView, type ListView } from './contract.ts';
import { readRouterPages } from './router-pages.ts';
import type { ConsoleSources } from './sources.ts';

const LIST = { path: '/v1/connections', names: ['state', 'key', 'site', 'age', 'idle'] } as const;

export async function listConnections(sources: ConsoleSources, parameters: URLSearchParams): Promise<ListView<ConnectionView>> {
  const wanted = parameters.get('state') ?? 'open';
  const state = connectionStates.find((each) => each === wanted) ?? 'open';
  const query = new URLSearchParams(parameters);
  query.set('state', state);
  const list = await readRouterPages(sources, LIST, query, (item) => readRecord(item, state));
  return {
    ...list,
    items: mergeRecords(list.items)
      .map(viewOf)
      .toSorted((one, another) => (one.begun < another.begun ? 1 : -1)),
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
