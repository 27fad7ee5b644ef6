import { issueBundle } from '../../../src/trust/issue.ts';
import { makeAuthority } from '../trust/support/site.ts';

/** PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
}

/** A self-issued certificate for 127.0.0.1. Created on each call, so that the repository holds no key. */
export function freshCertificate(): Certificate {
  const { cert, key, ca } = issueBundle(makeAuthority(), 'test', { subject: 'test', hosts: ['127.0.0.1'], server: true, client: true });
  return { cert, key, ca };
}
