import { checkBundle } from '../identity/bundle-check.ts';
import { sameBundle } from '../identity/tls-bundle.ts';
import type { TlsBundle } from '../router/contract.ts';

export interface HeldBundles {
  readonly bundles: ReadonlyMap<string, TlsBundle>;
  /** Some bundles are held back; plan again soon. */
  readonly holds: boolean;
}

/** Milliseconds for which the earlier version of a bundle is used. */
const PATIENCE = 2000;

/**
 * Detects partially written bundles. A certificate and its key are replaced one after the other. While they do not match, the earlier
 * version of the bundle is used for a short time.
 */
export class PartialBundles {
  readonly #lastWhole = new Map<string, TlsBundle>();
  readonly #tornSince = new Map<string, number>();
  #latest: { readonly given: ReadonlyMap<string, TlsBundle>; readonly held: HeldBundles } | undefined;

  /** @returns the same object as before if nothing has changed */
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

/** Checks that the certificate and the key match; dates do not matter here. */
function isWhole(bundle: TlsBundle): boolean {
  return checkBundle(bundle, { kind: 'server', dates: 'none' }).ok;
}
