import type { TlsBundle } from '../router/contract.ts';
import type { BundleUse, LastValid, Material } from './material.ts';
import { errorIn, hasErrors, warningIn, type ResourceProblem } from './problem.ts';
import type { ResourceKey } from './resources.ts';
import { quoted } from '../text/printable.ts';
import { sentence } from '../text/sentence.ts';

/** A usable bundle, if there is one, and the problems found. */
export interface FoundBundle {
  readonly bundle?: TlsBundle;
  readonly problems: readonly ResourceProblem[];
}

/**
 * Finds the bundle that a resource names in `spec.tlsCredentials`. If it is unusable, the problem says why, and the last usable bundle of
 * that name is used instead.
 * @param advice remedy if the user cannot write the bundle; by default, to put its files into the bundle's location
 */
export function findBundle(material: Material, name: string, use: BundleUse, resource: ResourceKey, advice?: string): FoundBundle {
  const { bundles, unreadable, awaitedSecrets, check, lastValid, bundleLocation } = material;
  const reason = unreadable.get(name);
  const bundle = bundles.get(name);
  if (reason === undefined && bundle === undefined && awaitedSecrets?.has(name) === true) {
    return { problems: [secretAwaited(resource, FIELD, name)] };
  }
  if (reason === undefined && bundle === undefined) {
    const message = `the TLS bundle ${quoted(name)} does not exist; ${advice ?? `put ${files[use]} into ${bundleLocation(name)}`}.`;
    return {
      problems: [{ ...errorIn(resource, FIELD, 'tls-missing', message), beginning: `TLS credentials secret ${quoted(name)} not found` }],
    };
  }
  const error = (code: ResourceProblem['code'], message: string): ResourceProblem =>
    errorIn(resource, FIELD, code, advice === undefined ? message : `${message.replace(/\.$/, '')}; ${advice}.`);
  const problems =
    reason !== undefined || bundle === undefined
      ? [error('tls-unreadable', reason ?? '')]
      : check(bundle, use).map(({ code, message, passing }) =>
          passing ? warningIn(resource, FIELD, code, message) : error(code, message),
        );
  const last = problems.length === 0 ? undefined : lastValid(name, use);
  if (last !== undefined) return { bundle: last.bundle, problems: problems.map((problem) => standingIn(problem, last, use)) };
  return bundle === undefined || hasErrors(problems) ? { problems } : { bundle, problems };
}

/** A Secret that is not an error yet: it may be applied soon, or the router may soon be allowed to read it. */
export function secretAwaited(resource: ResourceKey, field: string, name: string): ResourceProblem {
  return errorIn(resource, field, 'secret-awaited', `waiting until the router can read the Secret ${quoted(name)}.`);
}

function standingIn(problem: ResourceProblem, { until }: LastValid, use: BundleUse): ResourceProblem {
  const what = use === 'trust' ? 'ca.crt' : 'certificate';
  const day = new Date(until).toISOString().slice(0, 10);
  const message = `${sentence(problem.message)} Until then the last valid ${what} is used, until ${day}.`;
  return { ...problem, severity: 'error', message, runs: true };
}

const FIELD = 'spec.tlsCredentials';

const files: Readonly<Record<BundleUse, string>> = {
  server: 'tls.crt and tls.key',
  client: 'tls.crt, tls.key and ca.crt',
  trust: 'ca.crt',
};
