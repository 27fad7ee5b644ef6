import { grantSpecOf } from '../../agent/grants.ts';
import type { AccessGrant, Site } from '../../api/skupper/index.ts';
import { problemOf } from '../../errors/problem.ts';
import type { GrantFacts } from '../../site/observe/trust-facts.ts';
import { nameOf } from '../../site/resources.ts';
import type { Authority } from '../../trust/contract.ts';
import type { GrantStore, Ledger } from '../../trust/stores.ts';
import type { GrantRealm, LinkOffer } from '../../trust/tokens/contract.ts';
import type { NamespaceView } from '../namespace-view.ts';
import type { GrantService } from './grant-service.ts';

export interface SiteGrantsOptions {
  readonly grantService: GrantService;
  readonly store: GrantStore;
  readonly ledger: Ledger;
  readonly siteId: string;
  readonly authority: (issuer: string | undefined) => Promise<Authority>;
}

/** AccessGrants of one site, whose tokens the grant server redeems. Their key in the store and in URLs is the UID. */
export class SiteGrants implements AsyncDisposable {
  readonly #options: SiteGrantsOptions;
  #namespace: string | undefined;

  constructor(options: SiteGrantsOptions) {
    this.#options = options;
  }

  async step({ namespace, resources, unreadable, site }: NamespaceView, now: number): Promise<ReadonlyMap<string, GrantFacts>> {
    const { grantService, store } = this.#options;
    this.#namespace = namespace;
    const grants = site === undefined || !grantService.enabled ? [] : resources.AccessGrant;
    const desired = new Set(grants.map(uidOf));
    // Only a deleted grant is removed: one that is unreadable or not served now must not start again from zero.
    const kept = new Set([...resources.AccessGrant.map(uidOf), ...unreadable.filter(({ kind }) => kind === 'AccessGrant').map(uidOf)]);
    for (const { name } of store.list()) if (!kept.has(name)) await store.remove(name);
    const facts = new Map<string, GrantFacts>();
    for (const grant of resources.AccessGrant)
      facts.set(nameOf(grant), grantService.enabled ? await this.#factsOf(grant, now) : notEnabled);
    if (site !== undefined) grantService.serve(namespace, desired, this.#realmOf(site));
    else grantService.close(namespace);
    return facts;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#namespace !== undefined) this.#options.grantService.close(this.#namespace);
    await this.#options.store[Symbol.asyncDispose]();
  }

  #realmOf(site: Site): GrantRealm {
    const { store, ledger, authority, siteId } = this.#options;
    return { store, ledger, authority, offer: () => offerOf(site, siteId) };
  }

  async #factsOf(grant: AccessGrant, now: number): Promise<GrantFacts> {
    const { grantService, store } = this.#options;
    const uid = uidOf(grant);
    try {
      const { code, redemptions, redemptionsAllowed, expires } = await store.ensure(grantSpecOf(grant, uid));
      const { address } = grantService;
      const where = 'problem' in address ? {} : { url: address.url(uid), ca: address.ca };
      return { code, redemptions, redemptionsAllowed, expires, expired: expires <= now, ...where };
    } catch (error) {
      return { ...unknown, problem: problemOf(error) };
    }
  }
}

const unknown: GrantFacts = { redemptions: 0, redemptionsAllowed: 1, expired: false };

const notEnabled: GrantFacts = { ...unknown, problem: { code: 'not-on-platform', message: 'AccessGrants are not enabled' } };

const uidOf = ({ metadata }: Pick<AccessGrant, 'metadata'>): string => metadata.uid ?? '';

/** The endpoints are those in the Site's public status. */
function offerOf(site: Site, siteId: string): LinkOffer {
  const endpoints = (site.status?.endpoints ?? []).map(({ name = '', host = '', port = '', group }) => ({
    name,
    host,
    port,
    ...(group === undefined ? {} : { group }),
  }));
  return { siteId, siteName: nameOf(site), endpoints };
}
