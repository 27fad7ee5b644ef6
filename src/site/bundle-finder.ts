import type { TlsBundle } from '../router/contract.ts';
import type { BundleUse, Material } from './material.ts';
import type { ResourceProblem } from './problem.ts';
import type { ResourceKey } from './resources.ts';

/** A bundle that can be used, if it can, and what is to be said about it. */
export interface FoundBundle {
  readonly bundle?: TlsBundle;
  readonly problems: readonly ResourceProblem[];
}

/** Finds the bundles that resources name, and says of each that does not serve what it lacks. */
export class BundleFinder {
  readonly #material: Material;

  constructor(material: Material) {
    this.#material = material;
  }

  find(name: string, use: BundleUse, resource: ResourceKey, field = 'spec.tlsCredentials'): FoundBundle {
    const { bundles, unreadable, check, bundleLocation } = this.#material;
    const problem = (code: ResourceProblem['code'], message: string, severity: ResourceProblem['severity'] = 'error'): ResourceProblem => ({
      resource,
      severity,
      code,
      field,
      message,
    });
    const reason = unreadable.get(name);
    if (reason !== undefined) return { problems: [problem('tls-unreadable', reason)] };
    const bundle = bundles.get(name);
    if (bundle === undefined) {
      return {
        problems: [problem('tls-missing', `there is no TLS bundle named ${quote(name)}; put ${files[use]} into ${bundleLocation(name)}.`)],
      };
    }
    const found = check(bundle, use);
    const problems = found.map(({ code, message, passing }) => problem(code, message, passing ? 'warning' : 'error'));
    return found.some(({ passing }) => !passing) ? { problems } : { bundle, problems };
  }
}

const files: Readonly<Record<BundleUse, string>> = {
  server: 'tls.crt and tls.key',
  client: 'tls.crt, tls.key and ca.crt',
  trust: 'ca.crt',
};

/** Names are checked where they are read, but a message may quote any. */
export function quote(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 79)}…` : text);
}
