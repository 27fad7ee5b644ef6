import type { RouterState } from '../../router/contract.ts';

/** Maximum number of sentences: a site has two routers, and one more of each during a rollout. */
const MOST_TOLD = 4;

/**
 * Finds the serving routers of the site that a router is not linked to. Each of them still works, also with the sites that both are linked
 * to. But if one loses a link, the other no longer replaces it.
 * @param serving the other routers that serve clients
 * @returns the message about each of them, by router
 */
export function partitionedRouters(
  { network, siblingLinks = {}, siblings }: Pick<RouterState, 'network' | 'siblingLinks' | 'siblings'>,
  serving: readonly string[],
): ReadonlyMap<string, string> {
  const self = network[0]?.router;
  const apart = self === undefined ? [] : serving.filter((name) => !Object.hasOwn(siblingLinks, name)).slice(0, MOST_TOLD);
  return new Map(
    apart.map((name) => {
      const why = siblings?.problem?.message ?? siblings?.links[name]?.problem?.message ?? ADVICE;
      return [name, `the routers ${[self, name].sort().join(' and ')} are not linked to each other: ${why.replace(/\.$/, '')}`];
    }),
  );
}

/** Only the router that opens the link knows the cause. */
const ADVICE = 'check that their pods can reach each other at port 5671';
