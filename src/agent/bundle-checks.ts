import type { TlsBundle } from '../router/contract.ts';
import type { BundleProblem, BundleUse } from '../site/material.ts';
import { checkBundle, isAboutDates, type BundleCheck, type Purpose } from '../identity/bundle-check.ts';
import { readCertificates } from '../x509/facts.ts';

/** Half-open interval, in milliseconds since 1970: `from` is included, `until` is not. */
export interface Span {
  readonly from: number;
  readonly until: number;
}

/**
 * Checks of bundles, cached for each bundle object: parsing keys and verifying signatures blocks the thread that carries the traffic. A
 * result is valid until a certificate in the bundle begins or expires.
 */
export class BundleChecks {
  readonly #found = new WeakMap<TlsBundle, Map<BundleUse, Found>>();

  check(bundle: TlsBundle, use: BundleUse, now: number): Found {
    const known = this.#found.getOrInsertComputed(bundle, () => new Map<BundleUse, Found>());
    const before = known.get(use);
    if (before !== undefined && before.holds.from <= now && now < before.holds.until) return before;
    const found = { problems: problemsOf(checkBundle(bundle, PURPOSES[use], () => now)), holds: sameUntil(bundle, now) };
    known.set(use, found);
    return found;
  }
}

export interface Found {
  readonly problems: readonly BundleProblem[];
  readonly holds: Span;
}

export const ALWAYS: Span = { from: -Infinity, until: Infinity };

export function within(one: Span, other: Span): Span {
  return { from: Math.max(one.from, other.from), until: Math.min(one.until, other.until) };
}

const PURPOSES: Readonly<Record<BundleUse, Purpose>> = {
  server: { kind: 'server' },
  client: { kind: 'client', serverCa: true },
  trust: { kind: 'trust' },
};

/** Problems with dates do not block: the peer decides about them. */
function problemsOf(found: BundleCheck): readonly BundleProblem[] {
  if (found.ok) return found.warnings.map(({ code, message }) => ({ code, message, passing: true }));
  return found.problems.map(({ code, message }) => ({ code, message, passing: isAboutDates(code) }));
}

/** Returns the time span around `now` in which no certificate begins or expires. */
function sameUntil({ cert, ca }: TlsBundle, now: number): Span {
  const times = [cert, ca].flatMap(timesOf);
  return {
    from: Math.max(-Infinity, ...times.filter((time) => time <= now)),
    until: Math.min(Infinity, ...times.filter((time) => time > now)),
  };
}

/** Returns the start of each certificate's validity, and the first millisecond after its end. */
function timesOf(pem: string | undefined): readonly number[] {
  if (pem === undefined) return [];
  try {
    return readCertificates(pem, 'the bundle').flatMap(({ facts }) => [facts.notBefore, facts.notAfter + 1]);
  } catch {
    // An unparsable bundle does not become valid with time.
    return [];
  }
}
