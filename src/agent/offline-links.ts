import type { Endpoint } from '../api/skupper/index.ts';
import type { RouterState } from '../router/contract.ts';
import type { IssuedBundle, TlsBundle } from '../identity/tls-bundle.ts';
import { staticLinkBundle, staticLinkName } from '../site/plan/certificates.ts';
import type { Access } from '../site/plan/access.ts';
import { endpointsOf, staticLinkHosts, type Reach } from '../site/site-endpoints.ts';
import type { OfflineLink, OfflineLinks } from './ports.ts';

export interface StaticLink {
  readonly name: string;
  readonly host: string;
  /** Undefined while its ports are closed or its bundle is incomplete. An existing file stays as it is then. */
  readonly content?: Pick<OfflineLink, 'endpoints' | 'bundle'>;
}

/**
 * Lists the links with which other sites can link without a token: one for each host of each access. All links of an access have one
 * certificate, on record under their name.
 * @param bundles by name
 */
export function planStaticLinks(
  accesses: readonly Access[],
  reach: Reach,
  states: RouterState['accesses'],
  bundles: { readonly get: (name: string) => TlsBundle | undefined },
): readonly StaticLink[] {
  return accesses.flatMap((access) => {
    const bundle = wholeBundle(bundles.get(staticLinkBundle(access)));
    return staticLinkHosts(access, reach).map((host): StaticLink => {
      const endpoints: readonly Endpoint[] = endpointsOf(access, reach, states, [host]);
      const isUsable = bundle !== undefined && endpoints.length > 0;
      return { name: staticLinkName(access), host, ...(isUsable ? { content: { endpoints, bundle } } : {}) };
    });
  });
}

export async function writeStaticLinks(links: readonly StaticLink[], files: OfflineLinks): Promise<void> {
  for (const { name, host, content } of links) if (content !== undefined) await files.put({ name, host, ...content });
}

function wholeBundle({ name, cert, key, ca }: Partial<TlsBundle> = {}): IssuedBundle | undefined {
  if (name === undefined || cert === undefined || key === undefined || ca === undefined) return undefined;
  return { name, cert, key, ca };
}
