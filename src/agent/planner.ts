import type { TlsBundle } from '../router/contract.ts';
import type { Capabilities } from '../site/capabilities.ts';
import type { BundleSet } from '../trust/stores.ts';
import { planSite, type SitePlan } from '../site/plan/plan.ts';
import { ALWAYS, BundleChecks, within, type Span } from './bundle-checks.ts';
import { gatherBundles } from './material.ts';
import type { Snapshot } from './ports.ts';
import { TornBundles } from './torn-bundles.ts';

export interface PlanInput {
  readonly snapshot: Snapshot;
  readonly issued: BundleSet;
  /** What the site's own authority is verified by, PEM. */
  readonly siteAuthority: string | undefined;
  readonly capabilities: Capabilities;
  readonly bundleLocation: (name: string) => string;
}

export interface Planned {
  readonly plan: SitePlan;
  /** A bundle counts as it was before: plan again soon. */
  readonly holds: boolean;
}

/** Plans the site; the same plan as before, at no cost, while nothing that it was made from has changed and no certificate began or ended. */
export class Planner {
  readonly #torn = new TornBundles();
  readonly #checks = new BundleChecks();
  #latest: { readonly from: readonly unknown[]; readonly holds: Span; readonly plan: SitePlan } | undefined;

  plan({ snapshot, issued, siteAuthority, capabilities, bundleLocation }: PlanInput, now: number): Planned {
    const { bundles: user, holds } = this.#torn.hold(snapshot.bundles.bundles, now);
    const from = [snapshot, issued, siteAuthority, user];
    const latest = this.#latest;
    if (latest !== undefined && isIn(now, latest.holds) && from.every((part, index) => part === latest.from[index])) {
      return { plan: latest.plan, holds };
    }
    let span = ALWAYS;
    const material = {
      capabilities,
      ...gatherBundles({ user: { ...snapshot.bundles, bundles: user }, attached: snapshot.attached, issued }),
      ...(siteAuthority === undefined ? {} : { siteAuthority }),
      check: (bundle: TlsBundle, use: Parameters<BundleChecks['check']>[1]) => {
        const found = this.#checks.check(bundle, use, now);
        span = within(span, found.holds);
        return found.problems;
      },
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
