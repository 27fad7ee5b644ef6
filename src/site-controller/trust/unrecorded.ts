import { TrustError } from '../../trust/errors.ts';
import type { Ledger } from '../../trust/stores.ts';

/** Ledger for certificates without a site. They open no link, so none of them ever needs to be revoked. */
export const unrecorded: Ledger = {
  record: () => Promise.resolve(),
  async *issued() {},
  revoked: () => Promise.resolve([]),
  revoke: (site) =>
    Promise.reject(
      new TrustError('state-unavailable', `${site} cannot be identified: this namespace has no Site with a record of certificates`),
    ),
  unrevoke: () => Promise.resolve(false),
};
