import { isHostName } from '../text/names.ts';

/**
 * Reads the cluster domain from a pod's resolv.conf. The kubelet puts NAMESPACE.svc.DOMAIN first in the search list. Later
 * entries may come from the node, which may itself be in another cluster, so the entry must begin with the pod's namespace.
 */
export function clusterDomainIn(resolvConf: string, namespace: string): string | undefined {
  const lines = resolvConf.split('\n').map((line) => line.split(/\s+/));
  // As in resolvers, a later list replaces an earlier one.
  const search = lines.findLast(([keyword]) => keyword === 'search' || keyword === 'domain') ?? [];
  const own = `${namespace}.svc.`;
  const found = search.slice(1).find((name) => name.toLowerCase().startsWith(own));
  return found === undefined ? undefined : parseClusterDomain(found.slice(own.length));
}

/** Returns the domain in lower case without a trailing dot, or undefined if it is not a host name. */
export function parseClusterDomain(text: string): string | undefined {
  const name = text.toLowerCase().replace(/\.$/, '');
  return isHostName(name) && !name.endsWith('.') ? name : undefined;
}
