import { join } from 'node:path';
import { InTurn } from '../../work/in-turn.ts';
import { createKey, isKey } from '../../x509/request.ts';
import { refuseName, type PendingKeys } from '../stores.ts';
import type { Disk } from '../../files/disk.ts';
import { writeDurably } from '../../files/durable.ts';
import { hasCode } from '../../files/errno.ts';
import { realDisk } from './disk.ts';

const MAX_KEY_BYTES = 16_384;

/** A file each (mode 0600) in the directory. */
export function openPendingKeys(directory: string, disk: Disk = realDisk): PendingKeys {
  const turns = new InTurn();
  const pathOf = (name: string): string => {
    refuseName(name);
    return join(directory, `${name}.key`);
  };
  return {
    keyFor: (name) =>
      turns.run(name, async () => {
        const path = pathOf(name);
        const kept = (await disk.read(path, MAX_KEY_BYTES))?.toString('utf8');
        if (kept !== undefined && isKey(kept)) return kept;
        // One that cannot be read was never certified under our eyes: nothing is lost with it.
        const key = createKey();
        await disk.makeDirectory(directory);
        await writeDurably(path, key, 0o600, disk);
        return key;
      }),
    drop: (name) =>
      turns.run(name, async () => {
        await disk.remove(pathOf(name));
        await disk.syncDirectory(directory).catch((error: unknown) => {
          if (!hasCode(error, 'ENOENT')) throw error;
        });
      }),
  };
}
