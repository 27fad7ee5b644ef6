import type { Site } from '../api/skupper/index.ts';
import type { TlsBundle } from '../router/contract.ts';
import type { Platform } from '../site/capabilities.ts';
import type { Reach } from '../site/site-endpoints.ts';
import type { BundleSet } from '../trust/stores.ts';
import { chooseSite, planSite, type SitePlan } from '../site/plan/plan.ts';
import { ALWAYS, BundleChecks, within, type Found, type Span } from './bundle-checks.ts';
import { LastValidBundles } from './last-valid-bundles.ts';
import type { BundleUse, Material } from '../site/material.ts';
import type { SiteResources } from '../site/resources.ts';
import { certificateFacts } from '../x509/facts.ts';
import type { Snapshot } from './ports.ts';
import { PartialBundles } from './partial-bundles.ts';

export interface PlanInput {
  readonly snapshot: Snapshot;
  readonly issued: BundleSet;
  /** PEM certificate that verifies the site's own CA. */
  readonly siteAuthority: string | undefined;
  readonly platform: Pick<Platform, 'capabilities' | 'defaults' | 'access'> & { readonly network?: string };
  readonly reach: Reach;
  readonly bundleLocation: (name: string) => string;
}

export interface Planned {
  readonly plan: SitePlan;
  /** An earlier version of a bundle is in use; plan again soon. */
  readonly holds: boolean;
}

/** Plans the site. Returns the cached plan while the input is the same and no certificate has begun or expired since. */
export class Planner {
  readonly #torn = new PartialBundles();
  readonly #checks = new BundleChecks();
  readonly #lastValid = new LastValidBundles();
  #latest: { readonly from: readonly unknown[]; readonly holds: Span; readonly plan: SitePlan } | undefined;

  /** Returns the Site that runs, or would run next. */
  siteOf(resources: SiteResources): Site | undefined {
    return chooseSite(resources, this.#latest?.plan.site).site;
  }

  plan({ snapshot, issued, siteAuthority, platform, reach, bundleLocation }: PlanInput, now: number): Planned {
    const { bundles: user, holds } = this.#torn.hold(snapshot.bundles.bundles, now);
    const ownHosts = reach.kind === 'direct' ? reach.hosts : [];
    const from = [snapshot, issued, siteAuthority, user, ownHosts.join(' ')];
    const latest = this.#latest;
    if (latest !== undefined && isIn(now, latest.holds) && from.every((part, index) => part === latest.from[index])) {
      return { plan: latest.plan, holds };
    }
    let span = ALWAYS;
    const check = (bundle: TlsBundle, use: BundleUse): Found => {
      const found = this.#checks.check(bundle, use, now);
      span = within(span, found.holds);
      return found;
    };
    const gathered = gatherBundles({ ...snapshot.bundles, bundles: user }, snapshot.attached, issued);
    this.#lastValid.forgetOthers(gathered);
    const material: Material = {
      capabilities: platform.capabilities,
      defaults: platform.defaults,
      access: platform.access,
      network: platform.network,
      ...(snapshot.pods === undefined ? {} : { pods: snapshot.pods }),
      ...(snapshot.services === undefined ? {} : { services: snapshot.services }),
      ...(snapshot.attachedServers === undefined ? {} : { attachedServers: snapshot.attachedServers }),
      ...(snapshot.remembered === undefined ? {} : { remembered: snapshot.remembered }),
      ...(snapshot.proxies === undefined ? {} : { proxies: snapshot.proxies }),
      ...(snapshot.awaitedSecrets === undefined ? {} : { awaitedSecrets: snapshot.awaitedSecrets }),
      ...gathered,
      ...(siteAuthority === undefined ? {} : { siteAuthority }),
      check: (bundle, use) => {
        const found = check(bundle, use);
        this.#lastValid.see(bundle, use, found);
        return found.problems;
      },
      lastValid: (name, use) => this.#lastValid.standInFor(name, use, gathered, check),
      ownHosts,
      bundleLocation,
    };
    const plan = planSite(snapshot.resources, material, latest?.plan, snapshot.unreadSite);
    this.#latest = { from, holds: span, plan };
    return { plan, holds };
  }
}

function isIn(now: number, { from, until }: Span): boolean {
  return from <= now && now < until;
}

/** Precedence: the user's bundles, then bundles attached to resources unless an issued one is their renewal, then issued bundles. */
function gatherBundles(user: BundleSet, attached: readonly TlsBundle[], issued: BundleSet): Pick<Material, 'bundles' | 'unreadable'> {
  const bundles = new Map(issued.bundles);
  for (const bundle of attached) {
    const own = bundles.get(bundle.name);
    if (own === undefined || !isRenewalOf(own, bundle)) bundles.set(bundle.name, bundle);
  }
  for (const [name, bundle] of user.bundles) bundles.set(name, bundle);
  const unreadable = [...issued.unreadable, ...user.unreadable].map(([name, { message }]) => [name, message] as const);
  return { bundles, unreadable: new Map(unreadable) };
}

/** Whether `own` has the same subject and issuer and is not older. */
function isRenewalOf(own: TlsBundle, given: TlsBundle): boolean {
  if (own.cert === undefined || given.cert === undefined) return false;
  try {
    const [next, first] = [certificateFacts(own.cert, own.name), certificateFacts(given.cert, given.name)];
    return next.subject === first.subject && next.issuer === first.issuer && next.notBefore >= first.notBefore;
  } catch {
    return false;
  }
}
