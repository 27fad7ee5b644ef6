/**
 * A certificate and its key are two files, and whoever replaces them writes one after the other. For a moment a bundle that no longer
 * fits together therefore counts as it was before.
 */
import { checkBundle } from '../identity/bundle-check.ts';
import type { TlsBundle } from '../router/contract.ts';
import { sameBundle } from '../identity/tls-bundle.ts';

export interface Settled {
  readonly bundles: ReadonlyMap<string, TlsBundle>;
  /** Some are held back: look again soon. */
  readonly restless: boolean;
}

/** Milliseconds. */
const patience = 2000;

export function createSettler(): (bundles: ReadonlyMap<string, TlsBundle>, now: number) => Settled {
  const lastWhole = new Map<string, TlsBundle>();
  const tornSince = new Map<string, number>();

  return (bundles, now) => {
    const settled = new Map<string, TlsBundle>();
    let restless = false;
    for (const [name, bundle] of bundles) {
      const whole = lastWhole.get(name);
      if (sameBundle(whole, bundle) || isWhole(bundle)) {
        lastWhole.set(name, bundle);
        tornSince.delete(name);
        settled.set(name, bundle);
        continue;
      }
      const since = tornSince.getOrInsert(name, now);
      const isHeld = whole !== undefined && now - since >= 0 && now - since < patience;
      restless ||= isHeld;
      settled.set(name, isHeld ? whole : bundle);
    }
    for (const name of lastWhole.keys()) if (!bundles.has(name)) lastWhole.delete(name);
    for (const name of tornSince.keys()) if (!bundles.has(name)) tornSince.delete(name);
    return { bundles: settled, restless };
  };
}

/** A certificate with its key; the time does not matter here. */
function isWhole(bundle: TlsBundle): boolean {
  const check = checkBundle(bundle, { kind: 'server' });
  return check.ok || check.problems.every(({ code }) => code === 'tls-expired' || code === 'tls-not-yet-valid');
}
