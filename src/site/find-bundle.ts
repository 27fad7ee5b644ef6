import type { TlsBundle } from '../router/contract.ts';
import type { BundleUse, Material } from './material.ts';
import { errorIn, hasErrors, warningIn, type ResourceProblem } from './problem.ts';
import type { ResourceKey } from './resources.ts';
import { quoted } from '../text/printable.ts';

/** A bundle that can be used, if it can, and what is to be said about it. */
export interface FoundBundle {
  readonly bundle?: TlsBundle;
  readonly problems: readonly ResourceProblem[];
}

/** The bundle that a resource names in `spec.tlsCredentials`. One that does not serve is told with what it lacks. */
export function findBundle(
  { bundles, unreadable, check, bundleLocation }: Material,
  name: string,
  use: BundleUse,
  resource: ResourceKey,
): FoundBundle {
  const wrong = (code: ResourceProblem['code'], message: string): FoundBundle => ({ problems: [errorIn(resource, FIELD, code, message)] });
  const reason = unreadable.get(name);
  if (reason !== undefined) return wrong('tls-unreadable', reason);
  const bundle = bundles.get(name);
  if (bundle === undefined) {
    return wrong('tls-missing', `there is no TLS bundle named ${quoted(name)}; put ${files[use]} into ${bundleLocation(name)}.`);
  }
  const problems = check(bundle, use).map(({ code, message, passing }) => (passing ? warningIn : errorIn)(resource, FIELD, code, message));
  return hasErrors(problems) ? { problems } : { bundle, problems };
}

const FIELD = 'spec.tlsCredentials';

const files: Readonly<Record<BundleUse, string>> = {
  server: 'tls.crt and tls.key',
  client: 'tls.crt, tls.key and ca.crt',
  trust: 'ca.crt',
};
