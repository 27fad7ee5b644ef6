import { GRANTS } from '../../api/skupper/cluster-names.ts';
import type { Clock } from '../../trust/contract.ts';
import { formatGrant, parseGrant } from '../../trust/disk/grant-file.ts';
import { TrustError } from '../../trust/errors.ts';
import type { GrantRecord } from '../../trust/grants.ts';
import { HeldGrants } from '../../trust/held-grants.ts';
import type { GrantStore, Ledger } from '../../trust/stores.ts';
import { isGrantName } from '../../text/names.ts';
import type { SiteSecrets } from '../trust/site-secrets.ts';

/** Stores a site's grants in one of its Secrets, keyed by UID. */
export function openSecretGrants(secrets: SiteSecrets, options: { readonly ledger: Ledger; readonly clock?: Clock }): GrantStore {
  const records: GrantRecord[] = [];
  const damaged: [string, TrustError][] = [];
  for (const [name, text] of Object.entries(secrets.state(GRANTS))) {
    if (!isGrantName(name)) continue;
    const record = parseGrant(text, name);
    if (record === undefined) damaged.push([name, damagedRecord(secrets, name)]);
    else records.push(record);
  }
  const save = async (record: GrantRecord): Promise<void> => {
    const { name } = record;
    await secrets.changeState(GRANTS, (before = {}) => {
      refuseOlder(Object.hasOwn(before, name) ? parseGrant(before[name] ?? '', name) : undefined, record);
      return { ...before, [name]: formatGrant(record) };
    });
  };
  const remove = async (name: string): Promise<void> => {
    await secrets.changeState(GRANTS, ({ [name]: gone, ...others } = {}) => (gone === undefined ? undefined : others));
  };
  return new HeldGrants({ ...options, records, damaged, store: { save, remove, close: () => Promise.resolve() } });
}

/** Another process has counted redemptions since this one read the record. Its count must not be lost. */
function refuseOlder(kept: GrantRecord | undefined, { name, redemptions, keyHashes }: GrantRecord): void {
  if (kept === undefined || kept.keyHashes.every((hash, index) => hash === keyHashes[index])) return;
  const words = `grant ${name} was redeemed ${kept.redemptions} times, not ${redemptions} times: another process serves it`;
  throw new TrustError('state-busy', words);
}

function damagedRecord(secrets: SiteSecrets, name: string): TrustError {
  return new TrustError(
    'state-damaged',
    `${secrets.locationOf(GRANTS)}, key ${name}, is damaged, so the grant's number of redemptions is unknown and its tokens are refused. ` +
      'Delete the AccessGrant and create another',
  );
}
