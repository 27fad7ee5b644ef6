import { ROUTER, ROUTER_DATA } from '../../api/skupper/cluster-names.ts';
import { ledgerOf } from '../../site-controller/trust/ledger-of-namespace.ts';
import type { KubeClient } from '../../kube/contract.ts';
import { configMaps } from '../../kube/resource.ts';
import { isRecord } from '../../text/is-record.ts';
import { printable } from '../../text/printable.ts';
import type { Ledger, RevokedSite } from '../../trust/stores.ts';
import { pause } from '../../work/pause.ts';
import { CliError } from '../errors.ts';
import type { Terminal } from '../output/terminal.ts';
import { notRevoked, formatRevocation } from './revocation-format.ts';

export interface SiteInCluster {
  readonly client: KubeClient;
  readonly namespace: string;
}

/** Time in which a running controller processes a revocation, and interval between checks, in milliseconds. */
const IN_FORCE = 10_000;
const LOOK = 200;

/** Revokes a site and returns once the routers' configuration contains the revocation. */
export async function revokeInCluster(
  { client, namespace }: SiteInCluster,
  site: string,
  terminal: Terminal,
  within = IN_FORCE,
): Promise<void> {
  const revoked = await (await ledgerOf(client, namespace)).revoke(site);
  terminal.out(formatRevocation(revoked));
  const end = performance.now() + within;
  while (!isReceived((await client.find(configMaps, { namespace, name: ROUTER }))?.data?.[ROUTER_DATA.revoked], revoked)) {
    if (performance.now() >= end) {
      const advice = 'Check that the controller of sites runs; open connections continue until then.';
      throw new CliError('not-ready', `Timed out after ${within / 1000} s: the site's routers have not received the revocation. ${advice}`);
    }
    await pause(LOOK);
  }
}

export async function unrevokeInCluster({ client, namespace }: SiteInCluster, site: string, terminal: Terminal): Promise<void> {
  const ledger: Ledger = await ledgerOf(client, namespace);
  if (!(await ledger.unrevoke(site))) throw notRevoked(site, await ledger.revoked());
  terminal.out(`Site "${printable(site)}" may link again. Its existing links reconnect automatically.\n`);
}

function isReceived(text: string | undefined, { siteIds, serials }: RevokedSite): boolean {
  const received: unknown = text === undefined ? undefined : JSON.parse(text);
  if (!isRecord(received)) return false;
  const has = (list: unknown, required: readonly string[]): boolean => Array.isArray(list) && required.every((one) => list.includes(one));
  return has(received['sites'], siteIds) && has(received['serials'], serials);
}
