/** Requests that the routers of a site saw. */
import { numberIn, textIn, withoutUndefined, type UntrustedFields } from '../text/untrusted-fields.ts';
import type { ListView, RequestView } from './contract.ts';
import { readRouterPages } from './router-pages.ts';
import type { ConsoleSources } from './sources.ts';

const LIST = { path: '/v1/requests', names: ['key', 'connection'] } as const;

/** The latest first. */
export async function listRequests(sources: ConsoleSources, parameters: URLSearchParams): Promise<ListView<RequestView>> {
  const list = await readRouterPages(sources, LIST, parameters, readRequest);
  return { ...list, items: list.items.toSorted((one, other) => other.at.localeCompare(one.at)) };
}

const MOST_CHARACTERS = 253;

function readRequest(item: UntrustedFields): RequestView {
  const text = (name: string): string => textIn(item, name, MOST_CHARACTERS) ?? '';
  return {
    at: text('at'),
    connection: text('connection'),
    key: text('key'),
    protocol: text('protocol'),
    method: text('method'),
    status: numberIn(item, 'status') ?? 0,
    ms: numberIn(item, 'ms') ?? 0,
    of: numberIn(item, 'of') ?? 1,
    ...withoutUndefined({ path: textIn(item, 'path', MOST_CHARACTERS) }),
  };
}
