import type { CertificateFacts } from '../x509/facts.ts';
import { TrustError } from './errors.ts';

/**
 * Refuses a CA certificate from another site. It would be stored beside this site's bundles, under a name that the other site may choose.
 * Anything that looks up a CA of that name would then use it.
 * @throws TrustError `server-failed`
 */
export function refuseAuthority(leaf: Pick<CertificateFacts, 'isAuthority'> | undefined, what: string): void {
  if (leaf?.isAuthority === true)
    throw new TrustError('server-failed', `${what} is unusable: it is the certificate of a certificate authority`);
}
