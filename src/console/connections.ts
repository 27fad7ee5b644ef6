/** Connections of all routers of a site, merged by their ID. */
import type { ConnectionRecord } from '../router/contract.ts';
import { mergeRecords } from '../router/records/merge-records.ts';
import { readRecord } from '../router/records/read-record.ts';
import { withoutUndefined } from '../text/untrusted-fields.ts';
import { connectionStates, type ConnectionView, type ListView } from './contract.ts';
import { readRouterPages } from './router-pages.ts';
import type { ConsoleSources } from './sources.ts';

const LIST = { path: '/v1/connections', names: ['state', 'id', 'key', 'site', 'age', 'idle'] } as const;

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

/** A peer can use an ID again, so there may be several. */
export async function findConnections(sources: ConsoleSources, id: string): Promise<readonly ConnectionView[]> {
  const lists = connectionStates.map(async (state) => {
    const { items } = await readRouterPages(sources, LIST, new URLSearchParams({ state, id }), (item) => readRecord(item, state));
    return items;
  });
  return mergeRecords((await Promise.all(lists)).flat().filter((record) => record.id === id)).map(viewOf);
}

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
