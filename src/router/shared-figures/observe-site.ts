/** Asks the routers of a site for their figures. */
import type { ShownAs } from '../../errors/catalogue.ts';
import { limitTable } from '../../limits/table.ts';
import type { RouterPath } from '../../routing/contract.ts';
import { routerId } from '../../routing/names.ts';
import type { ObservedRouter, RouterFigures, RouterRecord } from '../contract.ts';
import { detailsOf } from '../link/refusal.ts';
import { refusalCode, requestAlongRoute, type OpenRequest, type RouteAnswer } from '../route-request.ts';
import { OBSERVE_AUTHORITY, ORIGIN_FIELD, ROUTE_FIELD } from '../wire.ts';
import { parseFigures } from './figures-format.ts';

export interface ObserverOptions {
  /** This router. */
  readonly self: string;
  /** ID of this site. */
  readonly ownSite: string;
  /** Reachable routers. */
  readonly network: readonly Pick<RouterRecord, 'router' | 'site'>[];
  readonly pathTo: (router: string) => RouterPath | undefined;
  readonly open: OpenRequest;
  /** Figures of this router. */
  readonly collect: () => RouterFigures;
}

/** Pieces of an answer: a peer may send each byte alone. */
const MOST_PIECES = 1_024;
/** Begins the details of a refusal by the setting of the site. */
export const NOT_SHARED = 'not-shared';

/** @returns undefined if no router of the site is reachable */
export async function observeSite(site: string, options: ObserverOptions): Promise<readonly ObservedRouter[] | undefined> {
  const routers = options.network.filter((each) => each.site.id === site).slice(0, limitTable.routersOfSite.value);
  if (routers.length === 0) return undefined;
  return Promise.all(routers.map(({ router }) => observeRouter(site, router, options)));
}

async function observeRouter(site: string, router: string, options: ObserverOptions): Promise<ObservedRouter> {
  const { self, ownSite, pathTo, open, collect } = options;
  const id = routerId(site, router);
  if (id === self) return { router, figures: collect() };
  const to = pathTo(id);
  if (to === undefined) return failed(router, 'closed', 'no path leads to the router');
  const fields = { [ROUTE_FIELD]: to.path.join(' '), [ORIGIN_FIELD]: ownSite };
  const answer = await requestAlongRoute({
    to,
    head: { method: 'CONNECT', authority: OBSERVE_AUTHORITY, fields },
    deadline: limitTable.observationTime.value,
    open,
    owner: OBSERVE_AUTHORITY,
    body: { bytes: limitTable.observationBytes.value, pieces: MOST_PIECES },
  });
  return observedIn(router, answer);
}

/** Interprets an answer (pure). The text is that of another site: `detailsOf` and `printable` bound it where it is shown. */
export function observedIn(router: string, answer: RouteAnswer): ObservedRouter {
  if (answer.kind === 'lost') return failed(router, 'timeout', answer.why);
  const { status, fields } = answer.head;
  const details = detailsOf(fields) ?? '';
  if (status === 403 && details.startsWith(`${NOT_SHARED}:`))
    return failed(router, 'not-shared', 'the site does not share them (settings.observe)');
  if (status === 404) return failed(router, 'no-figures', 'its version is too old to share them');
  if (status !== 200) return failed(router, refusalCode(status), `status ${status}${details === '' ? '' : `, ${details}`}`);
  const figures = parseFigures(answer.body);
  return figures === undefined ? failed(router, 'protocol', 'the answer of the router is not valid') : { router, figures };
}

function failed(router: string, code: ShownAs<'answer' | 'metric'>, message: string): ObservedRouter {
  return { router, code, message };
}
