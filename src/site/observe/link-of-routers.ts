import type { LinkState, RouterState } from '../../router/contract.ts';
import type { ResourceKey } from '../resources.ts';
import { stateOf } from './status.ts';

/** Routers that are named: a site has two, and one more of each while it is rolled out. */
const MOST_NAMED = 4;

/** A link, as all routers of its site have it. */
export interface LinkOfRouters extends LinkState {
  /** That it is silent, or which routers do not have it, where others do. */
  readonly note?: string;
}

/**
 * Each router of a site opens each link, and one that is up carries what all of them send: so the link is operational where any router has it.
 * Whoever does not is told of only where he has failed and serves clients: not a router that comes or goes, nor one that nothing is heard of.
 *
 * @param view.router the router that asks, and what it has heard of the others
 * @param view.serving the others that serve clients
 */
export function linkOfRouters(
  link: ResourceKey,
  { router, serving = [] }: { readonly router?: RouterState | undefined; readonly serving?: readonly string[] },
): LinkOfRouters | undefined {
  const own = stateOf(router?.links, link);
  if (own === undefined) return undefined;
  const others = Object.entries(router?.siblingLinks ?? {}).flatMap(([name, links]) => {
    const state = stateOf(links, link);
    return state === undefined ? [] : [{ name, state }];
  });
  const holder = own.operational ? own : others.find(({ state }) => state.operational)?.state;
  if (holder === undefined) return own;
  const self = { name: router?.network[0]?.router ?? '', why: own.operational ? undefined : own.problem?.message };
  const lacking = [self, ...others.map(({ name, state }) => ({ name, why: serving.includes(name) ? whyNot(state) : undefined }))].flatMap(
    ({ name, why }) => (why === undefined ? [] : [`the router ${name} does not have it: ${why.replace(/\.$/, '')}`]),
  );
  const { remoteSiteId, remoteSiteName } = holder;
  const notes = [...silence(own), ...lacking.slice(0, MOST_NAMED).sort()];
  return {
    ...own,
    operational: true,
    ...(remoteSiteId === undefined ? {} : { remoteSiteId }),
    ...(remoteSiteName === undefined ? {} : { remoteSiteName }),
    ...(notes.length === 0 ? {} : { note: notes.join('; ') }),
  };
}

/** A time and not its length: a status is written when something changes. */
function silence({ operational, silentSince }: LinkState): readonly string[] {
  if (!operational || silentSince === undefined) return [];
  return [`silent since ${new Date(silentSince).toISOString().slice(11, 19)}Z; new connections use other paths`];
}

function whyNot({ operational, problem }: { readonly operational: boolean; readonly problem?: string }): string | undefined {
  return operational ? undefined : problem;
}
