/** Pages of lists that each router of the site has. */
import { limitTable } from '../limits/table.ts';
import { fieldsIn, numberIn, recordsIn, type UntrustedFields } from '../text/untrusted-fields.ts';
import type { ListView, Missing } from './contract.ts';
import { addMissing } from './missing.ts';
import type { ConsoleSources } from './sources.ts';

const LIMIT = Math.min(200, limitTable.recordsOfPage.value);

/**
 * Asks all routers for their next page, and puts the pages together. A cursor has that of each router, as a query: `router=12&second=7`.
 * Routers without one have no further items.
 * @param path of the router API, and names of the parameters that are passed on
 * @param read an item of a router
 */
export async function readRouterPages<T>(
  sources: ConsoleSources,
  { path, names }: { readonly path: string; readonly names: readonly string[] },
  parameters: URLSearchParams,
  read: (item: UntrustedFields) => T,
): Promise<ListView<T>> {
  const cursors = parameters.has('cursor') ? new URLSearchParams(parameters.get('cursor') ?? '') : undefined;
  const routers = (await sources.routers()).filter((router) => cursors === undefined || cursors.has(router));
  const partial: Missing[] = [];
  const pages = await Promise.all(
    routers.map(async (router) => {
      const query = new URLSearchParams({ limit: String(LIMIT) });
      for (const [name, value] of parameters) if (names.includes(name)) query.set(name, value);
      const cursor = cursors?.get(router);
      if (cursor !== undefined && cursor !== null) query.set('cursor', cursor);
      try {
        const answer = fieldsIn(await sources.ask(router, `${path}?${query.toString()}`));
        const next = typeof answer['next'] === 'string' ? answer['next'] : undefined;
        return { router, items: recordsIn(answer['items'], LIMIT).map(read), total: numberIn(answer, 'total') ?? 0, next };
      } catch (error) {
        addMissing(partial, router, error);
        return { router, items: [], total: 0, next: undefined };
      }
    }),
  );
  const next = new URLSearchParams(pages.flatMap((page) => (page.next === undefined ? [] : [[page.router, page.next]])));
  return {
    items: pages.flatMap(({ items }) => items),
    next: next.size === 0 ? null : next.toString(),
    total: pages.reduce((sum, { total }) => sum + total, 0),
    asOf: new Date(sources.now()).toISOString(),
    partial,
  };
}
