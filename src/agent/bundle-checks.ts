import type { TlsBundle } from '../router/contract.ts';
import type { BundleProblem, BundleUse } from '../site/material.ts';
import { checkBundle, isAboutDates, type BundleCheck, type Purpose } from '../identity/bundle-check.ts';
import { readCertificates } from '../x509/facts.ts';

/** From the one to before the other, milliseconds since 1970. */
export interface Span {
  readonly from: number;
  readonly until: number;
}

/**
 * Whether bundles serve, each looked at once: keys are read and signatures verified on the thread that carries the traffic. What was
 * found holds for that very object, until a certificate in it begins or ends.
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

/** Of dates whoever connects decides. */
function problemsOf(found: BundleCheck): readonly BundleProblem[] {
  if (found.ok) return found.warnings.map(({ code, message }) => ({ code, message, passing: true }));
  return found.problems.map(({ code, message }) => ({ code, message, passing: isAboutDates(code) }));
}

/** The time around now in which no certificate begins or ends. */
function sameUntil({ cert, ca }: TlsBundle, now: number): Span {
  const times = [cert, ca].flatMap(timesOf);
  return {
    from: Math.max(-Infinity, ...times.filter((time) => time <= now)),
    until: Math.min(Infinity, ...times.filter((time) => time > now)),
  };
}

/** When one begins, and the first millisecond at which it has ended. */
function timesOf(pem: string | undefined): readonly number[] {
  if (pem === undefined) return [];
  try {
    return readCertificates(pem, 'the bundle').flatMap(({ facts }) => [facts.notBefore, facts.notAfter + 1]);
  } catch {
    // What cannot be read will not mend with time.
    return [];
  }
}
