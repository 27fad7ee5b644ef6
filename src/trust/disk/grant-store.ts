import { join } from 'node:path';
import type { Clock } from '../contract.ts';
import { TrustError } from '../errors.ts';
import type { GrantRecord } from '../grants.ts';
import { HeldGrants } from '../held-grants.ts';
import type { GrantStore, KnownGrant, Ledger } from '../stores.ts';
import type { Disk } from '../../files/disk.ts';
import { removeDrafts, writeDurably } from '../../files/durable.ts';
import { realDisk } from './disk.ts';
import { formatGrant, parseGrant } from './grant-file.ts';
import { acquireLock } from './lock.ts';
import { isGrantName } from '../../text/names.ts';

const MAX_FILE_BYTES = 8 * 1_048_576;
const EXTENSION = '.json';

export interface GrantStoreOptions {
  readonly ledger: Ledger;
  readonly clock?: Clock;
  readonly disk?: Disk;
  /** Grants by name, as their statuses show them. */
  readonly known?: ReadonlyMap<string, KnownGrant>;
}

/**
 * Opens a store with one file for each grant (mode 0600). Locks the directory for this process.
 * @throws TrustError `state-busy` with the PID of the holder
 */
export async function openGrantStore(directory: string, { disk = realDisk, ...options }: GrantStoreOptions): Promise<GrantStore> {
  await disk.makeDirectory(directory);
  const lock = await acquireLock(join(directory, 'store.lock'));
  const pathOf = (name: string): string => join(directory, `${name}${EXTENSION}`);
  try {
    await removeDrafts(directory, disk);
    return new HeldGrants({
      ...options,
      ...(await readGrants(disk, directory)),
      store: {
        save: (record) => writeDurably(pathOf(record.name), formatGrant(record), 0o600, disk),
        remove: async (name) => {
          await disk.remove(pathOf(name));
          await disk.syncDirectory(directory);
        },
        close: async () => lock[Symbol.asyncDispose](),
      },
    });
  } catch (error) {
    await lock[Symbol.asyncDispose]();
    throw error;
  }
}

interface Found {
  readonly records: GrantRecord[];
  readonly damaged: [string, TrustError][];
}

async function readGrants(disk: Disk, directory: string): Promise<Found> {
  const found: Found = { records: [], damaged: [] };
  for (const file of await disk.names(directory)) {
    const name = file.slice(0, -EXTENSION.length);
    if (!file.endsWith(EXTENSION) || !isGrantName(name)) continue;
    try {
      found.records.push(await readGrant(disk, join(directory, file), name));
    } catch (error) {
      if (!(error instanceof TrustError)) throw error;
      found.damaged.push([name, error]);
    }
  }
  return found;
}

async function readGrant(disk: Disk, path: string, name: string): Promise<GrantRecord> {
  const record = parseGrant((await disk.read(path, MAX_FILE_BYTES))?.toString('utf8') ?? '', name);
  if (record !== undefined) return record;
  throw new TrustError(
    'state-damaged',
    `${path} is damaged, so the number of redemptions of grant ${name} is unknown and its tokens are refused. Restore the file from a backup; ` +
      'or delete it and restart the site: the grant then gets a new code, and its time and count start again',
  );
}
