import { LEDGER, ROUTER } from '../../api/skupper/cluster-names.ts';
import { sites } from '../../api/skupper/index.ts';
import { API_VERSION } from '../../api/skupper/names.ts';
import type { KubeClient } from '../../kube/contract.ts';
import type { Secret } from '../../kube/objects.ts';
import { configMaps, secrets } from '../../kube/resource.ts';
import type { Anchor } from '../../trust/anchor.ts';
import { TrustError } from '../../trust/errors.ts';
import { otherSites } from '../../site/other-sites.ts';
import type { Ledger } from '../../trust/stores.ts';
import { ownerOf } from '../namespace-view.ts';
import { activeSite } from '../site/active-site.ts';
import { anchorIn } from './router-anchor.ts';
import { SecretLedger } from './secret-ledger.ts';
import { SiteSecrets } from './site-secrets.ts';

/** Opens the record of a namespace's site for a command. The controller passes changes on to the site's routers. */
export async function ledgerOf(client: KubeClient, namespace: string): Promise<Ledger> {
  const [all, router, seen] = await Promise.all([
    Array.fromAsync(client.list(sites, { namespace })),
    client.find(configMaps, { namespace, name: ROUTER }),
    client.find(secrets, { namespace, name: LEDGER }),
  ]);
  const byName = all.toSorted((one, other) => ((one.metadata.name ?? '') < (other.metadata.name ?? '') ? -1 : 1));
  const site = activeSite(byName, [router, seen]);
  if (site === undefined) throw new TrustError('state-unavailable', `namespace ${namespace} has no Site`);
  let current: Secret | undefined = seen;
  const caches = {
    view: () => ({ get: () => current, wrote: (object: Secret) => void (current = object) }),
    list: () => (current === undefined ? [] : [current]),
  };
  const anchor = (): Anchor => anchorIn(router, site.metadata.uid);
  return new SecretLedger(new SiteSecrets({ namespace, client, caches, site: ownerOf({ ...site, ...KIND }) }), {
    anchor,
    network: otherSites(site),
  });
}

/** Items of a list lack these fields. */
const KIND = { apiVersion: API_VERSION, kind: 'Site' } as const;
