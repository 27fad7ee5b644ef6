import { TrustError } from '../../trust/errors.ts';
import type { Ledger } from '../../trust/stores.ts';

/** Of what no site is there for: none of it opens a link, so nobody need ever refuse it. */
export const unrecorded: Ledger = {
  record: () => Promise.resolve(),
  async *issued() {},
  revoked: () => Promise.resolve([]),
  revoke: (site) => Promise.reject(new TrustError('state-unavailable', `there is no Site whose record would tell who ${site} is`)),
  unrevoke: () => Promise.resolve(false),
};
