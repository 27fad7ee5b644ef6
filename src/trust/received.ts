import type { CertificateFacts } from '../x509/facts.ts';
import { TrustError } from './errors.ts';

/**
 * What another site gives is kept beside this site's own bundles, under a name that may be that site's choice. One that may sign would be
 * an authority of this site, as soon as anything asks for one of that name.
 * @throws TrustError `server-failed`
 */
export function refuseAuthority(leaf: Pick<CertificateFacts, 'isAuthority'> | undefined, what: string): void {
  if (leaf?.isAuthority === true) throw new TrustError('server-failed', `${what} is of no use: it is a certificate authority's`);
}
