/**
 * Trust: a site's certificate authority, the certificates that it gives, grants and tokens, renewal and revocation.
 */
export type * from './contract.ts';
export { TrustError } from './errors.ts';
export { siteIdOf } from './site-id.ts';

export { openSiteAuthority, readAuthority } from './authority.ts';
export { issueBundle, issueCertificate } from './issue.ts';
export { createKey, createRequest } from './request.ts';

export { readBundle, writeBundle } from './bundle-files.ts';
export { checkBundle } from './check.ts';
export { certificateFacts } from './facts.ts';
export { Use } from './x509.ts';

export { openGrantStore } from './grant-store.ts';
export { openLedger, revocationsOf } from './ledger.ts';
export { grantUrl, startGrantServer } from './grant-server.ts';

export { parseToken, readToken, writeToken } from './token.ts';
export { redeemToken } from './redeem.ts';
export { openPendingKeys, renewalPlan, renewFor, requestRenewal } from './renewal.ts';

export { acquireLock } from './lock.ts';
