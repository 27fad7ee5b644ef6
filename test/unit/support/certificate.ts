import { issueBundle } from '../../../src/trust/issue.ts';
import { makeAuthority } from '../trust/support/site.ts';

/** PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
}

/** A certificate for 127.0.0.1, of an authority of its own. Made anew each time, so that no key lies in the repository. */
export function freshCertificate(): Certificate {
  const { cert, key, ca } = issueBundle(makeAuthority(), 'test', { subject: 'test', hosts: ['127.0.0.1'], server: true, client: true });
  return { cert, key, ca };
}
