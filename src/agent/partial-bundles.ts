import { checkBundle } from '../identity/bundle-check.ts';
import { sameBundle } from '../identity/tls-bundle.ts';
import type { TlsBundle } from '../router/contract.ts';

export interface HeldBundles {
  readonly bundles: ReadonlyMap<string, TlsBundle>;
  /** Some are held back: look again soon. */
  readonly holds: boolean;
}

/** Milliseconds. */
const PATIENCE = 2000;

/**
 * A certificate and its key are written one after the other by whoever replaces them. For a moment a bundle that no longer fits
 * together therefore counts as it was before.
 */
export class PartialBundles {
  readonly #lastWhole = new Map<string, TlsBundle>();
  readonly #tornSince = new Map<string, number>();
  #latest: { readonly given: ReadonlyMap<string, TlsBundle>; readonly held: HeldBundles } | undefined;

  /** @returns the same object as before while nothing has changed */
  hold(given: ReadonlyMap<string, TlsBundle>, now: number): HeldBundles {
    if (this.#latest?.given === given && !this.#latest.held.holds) return this.#latest.held;
    const bundles = new Map([...given].map(([name, bundle]) => [name, this.#holdOne(name, bundle, now)]));
    for (const known of [this.#lastWhole, this.#tornSince]) {
      for (const name of known.keys()) if (!given.has(name)) known.delete(name);
    }
    const held = { bundles, holds: [...bundles].some(([name, bundle]) => bundle !== given.get(name)) };
    this.#latest = { given, held };
    return held;
  }

  #holdOne(name: string, bundle: TlsBundle, now: number): TlsBundle {
    const whole = this.#lastWhole.get(name);
    if (sameBundle(whole, bundle) || isWhole(bundle)) {
      this.#lastWhole.set(name, bundle);
      this.#tornSince.delete(name);
      return bundle;
    }
    const since = this.#tornSince.getOrInsert(name, now);
    return whole !== undefined && now - since >= 0 && now - since < PATIENCE ? whole : bundle;
  }
}

/** A certificate with its key; the time does not matter here. */
function isWhole(bundle: TlsBundle): boolean {
  return checkBundle(bundle, { kind: 'server', dates: 'none' }).ok;
}
