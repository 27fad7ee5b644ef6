import { isHostName } from '../text/names.ts';

/**
 * The domain under which Services have names, as the kubelet tells it to every pod: the search list of resolv.conf begins with
 * NAMESPACE.svc.DOMAIN. What follows may be the machine's own, which itself may be in another cluster, so the pod's namespace has to be in it.
 */
export function clusterDomainIn(resolvConf: string, namespace: string): string | undefined {
  const lines = resolvConf.split('\n').map((line) => line.split(/\s+/));
  // As resolvers do: a later list replaces one before.
  const search = lines.findLast(([keyword]) => keyword === 'search' || keyword === 'domain') ?? [];
  const own = `${namespace}.svc.`;
  const found = search.slice(1).find((name) => name.toLowerCase().startsWith(own));
  return found === undefined ? undefined : parseClusterDomain(found.slice(own.length));
}

/** Without the dot at its end that names of DNS may have; undefined where it is no name. */
export function parseClusterDomain(text: string): string | undefined {
  const name = text.toLowerCase().replace(/\.$/, '');
  return isHostName(name) && !name.endsWith('.') ? name : undefined;
}
