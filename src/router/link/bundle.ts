import type { SecureContext } from 'node:tls';
import type { IssuedBundle, TlsBundle } from '../../identity/tls-bundle.ts';
import { secureContextOf } from '../tls-context.ts';
import { LinkError } from './link-errors.ts';

/** A bundle that is usable for links. */
export interface LinkBundle extends IssuedBundle {
  readonly context: SecureContext;
}

/**
 * Checks a bundle for a link, which needs all three parts: each end presents a certificate and verifies the other's.
 * @throws LinkError that names the bundle, its file, and the remedy
 */
export function openBundle(bundle: TlsBundle, side: 'client' | 'server'): LinkBundle {
  const { name, cert = '', key = '', ca = '' } = bundle;
  const result = secureContextOf(bundle, { kind: side, clientCa: true, serverCa: true, dates: 'leaf' }, 'TLSv1.3');
  if (result.kind === 'unusable') throw new LinkError(result.problem.code, result.problem.message);
  return { name, cert, key, ca, context: result.context };
}
