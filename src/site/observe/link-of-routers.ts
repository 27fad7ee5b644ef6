import type { LinkState, RouterState } from '../../router/contract.ts';
import type { ResourceKey } from '../resources.ts';
import { stateOf } from './status.ts';

/** Maximum number of routers that are named: a site has two, and one more of each during a rollout. */
const MOST_NAMED = 4;

/** State of a link across all routers of its site. */
export interface LinkOfRouters extends LinkState {
  /** Says that the link is silent, or which routers lack it while others have it. */
  readonly note?: string;
}

/**
 * Each router of a site opens each link, and one operational link carries the traffic of all. So the link is operational if any router has
 * it. A router without it is reported only if it has failed and serves clients: not while it starts, stops or is unknown.
 * @param view.router this router, and what it has received from the others
 * @param view.serving the other routers that serve clients
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
    ({ name, why }) => (why === undefined ? [] : [`the router ${name} does not have this link: ${why.replace(/\.$/, '')}`]),
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

/** A time instead of a duration: a status is written only when something changes. */
function silence({ operational, silentSince }: LinkState): readonly string[] {
  if (!operational || silentSince === undefined) return [];
  return [`silent since ${new Date(silentSince).toISOString().slice(11, 19)}Z; new connections use other paths`];
}

function whyNot({ operational, problem }: { readonly operational: boolean; readonly problem?: string }): string | undefined {
  return operational ? undefined : problem;
}
