import { join } from 'node:path';
import { KeyedMutex } from '../../work/keyed-mutex.ts';
import { createKey, isKey } from '../../x509/request.ts';
import { refuseName, type PendingKeys } from '../stores.ts';
import type { Disk } from '../../files/disk.ts';
import { writeDurably } from '../../files/durable.ts';
import { hasCode } from '../../files/errno.ts';
import { realDisk } from './disk.ts';

const MAX_KEY_BYTES = 16_384;

/** Stores each key in a file of its own (mode 0600). */
export class DirectoryPendingKeys implements PendingKeys {
  readonly #directory: string;
  readonly #disk: Disk;
  readonly #turns = new KeyedMutex();

  constructor(directory: string, disk: Disk = realDisk) {
    this.#directory = directory;
    this.#disk = disk;
  }

  keyFor(name: string): Promise<string> {
    return this.#turns.run(name, async () => {
      const path = this.#pathOf(name);
      const kept = (await this.#disk.read(path, MAX_KEY_BYTES))?.toString('utf8');
      if (kept !== undefined && isKey(kept)) return kept;
      // The process never used an unreadable key for a certificate, so nothing is lost.
      const key = createKey();
      await this.#disk.makeDirectory(this.#directory);
      await writeDurably(path, key, 0o600, this.#disk);
      return key;
    });
  }

  drop(name: string): Promise<void> {
    return this.#turns.run(name, async () => {
      await this.#disk.remove(this.#pathOf(name));
      await this.#disk.syncDirectory(this.#directory).catch((error: unknown) => {
        if (!hasCode(error, 'ENOENT')) throw error;
      });
    });
  }

  #pathOf(name: string): string {
    refuseName(name);
    return join(this.#directory, `${name}.key`);
  }
}
