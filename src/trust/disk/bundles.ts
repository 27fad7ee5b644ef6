import { rm, rmdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { TlsBundle } from '../../identity/tls-bundle.ts';
import { refuseName, type Bundles } from '../stores.ts';
import { createParts, readBundle, writeBundle } from './bundle-files.ts';
import type { Disk } from '../../files/disk.ts';
import { draftFor } from '../../files/durable.ts';
import { hasCode } from '../../files/errno.ts';
import { realDisk } from './disk.ts';
import { acquireLock } from './lock.ts';
import { isResourceName } from '../../text/names.ts';

const LOCK_WAIT_MILLISECONDS = 10_000;

/** A directory each: `NAME/{tls.crt,tls.key,ca.crt}`. */
export class DirectoryBundles implements Bundles {
  readonly #directory: string;
  readonly #disk: Disk;

  constructor(directory: string, disk: Disk = realDisk) {
    this.#directory = directory;
    this.#disk = disk;
  }

  locationOf(name: string): string {
    refuseName(name);
    return join(this.#directory, name);
  }

  async get(name: string): Promise<TlsBundle | undefined> {
    const bundle = await readBundle(this.locationOf(name), name, this.#disk);
    return bundle.cert === undefined && bundle.key === undefined && bundle.ca === undefined ? undefined : bundle;
  }

  async names(): Promise<readonly string[]> {
    const found: string[] = [];
    for (const name of (await this.#disk.names(this.#directory)).filter(isResourceName)) {
      // What cannot be read now is there nonetheless.
      if ((await this.get(name).catch(() => 'unreadable')) !== undefined) found.push(name);
    }
    return found.sort();
  }

  async put(bundle: TlsBundle): Promise<void> {
    await writeBundle(this.locationOf(bundle.name), bundle, this.#disk);
  }

  /** Its directory comes into being with all its files or not at all. */
  async make(name: string, make: () => TlsBundle): Promise<TlsBundle> {
    const directory = this.locationOf(name);
    if ((await this.#disk.names(directory)).length === 0) await this.#makeDirectory(directory, make);
    return readBundle(directory, name, this.#disk);
  }

  async #makeDirectory(directory: string, make: () => TlsBundle): Promise<void> {
    const disk = this.#disk;
    await using _lock = await acquireLock(`${directory}.lock`, { waitMilliseconds: LOCK_WAIT_MILLISECONDS });
    if ((await disk.names(directory)).length > 0) return;
    await this.#removeUnfinished(directory);
    const unfinished = draftFor(directory);
    await createParts(unfinished, make(), disk);
    await rmdir(directory).catch((error: unknown) => {
      if (!hasCode(error, 'ENOENT')) throw error;
    });
    await disk.rename(unfinished, directory);
    await disk.syncDirectory(dirname(directory));
  }

  async #removeUnfinished(directory: string): Promise<void> {
    for (const name of await this.#disk.names(this.#directory)) {
      const isOurs = name.startsWith(`.${basename(directory)}.`) && /\.[0-9a-f]{12}\.tmp$/.test(name);
      if (isOurs) await rm(join(this.#directory, name), { recursive: true, force: true });
    }
  }
}
