import type { SecureContext } from 'node:tls';
import type { IssuedBundle, TlsBundle } from '../../identity/tls-bundle.ts';
import { secureContextOf } from '../tls-context.ts';
import { LinkError } from './link-errors.ts';

/** A bundle that can be used on a link. */
export interface LinkBundle extends IssuedBundle {
  readonly context: SecureContext;
}

/**
 * Makes a bundle ready for links, which need all of its three parts: each side shows a certificate, and looks at the other's.
 * @throws LinkError that names the bundle, its file, and the remedy
 */
export function openBundle(bundle: TlsBundle, side: 'client' | 'server'): LinkBundle {
  const { name, cert = '', key = '', ca = '' } = bundle;
  const result = secureContextOf(bundle, { kind: side, clientCa: true, serverCa: true, dates: 'leaf' }, 'TLSv1.3');
  if (result.kind === 'unusable') throw new LinkError(result.problem.code, result.problem.message);
  return { name, cert, key, ca, context: result.context };
}
