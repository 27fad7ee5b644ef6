import type { RouterState } from '../../router/contract.ts';

/** Sentences: a site has two routers, and one more of each while it is rolled out. */
const MOST_TOLD = 4;

/**
 * The routers of its site that serve clients, and that a router is not linked to: each goes on by itself, and both by the sites that they are
 * linked to, but the loss of a link of either is no longer made up for by the other.
 *
 * @param serving the others that serve clients
 * @returns what is to be said of it, by router
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

/** Only the one that opens the link knows more. */
const ADVICE = 'see that their pods reach each other at port 5671';
