import { limitTable } from '../../limits/table.ts';
import { lstat, opendir, rmdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { problemOf, type Problem } from '../../errors/problem.ts';
import type { Disk } from '../../files/disk.ts';
import { draftFor } from '../../files/durable.ts';
import { hasCode } from '../../files/errno.ts';
import { removeTree, securePath } from '../../files/secure-path.ts';
import { isFresh, isSameStamp, listingStamp, Look, stampOf, type Looked, type Stamp } from '../../files/stamps.ts';
import { sameBundle, type TlsBundle } from '../../identity/tls-bundle.ts';
import { isResourceName } from '../../text/names.ts';
import { refuseName, type Bundles, type BundleSet } from '../stores.ts';
import { BUNDLE_FILES, createParts, readBundle, writeBundle } from './bundle-files.ts';
import { realDisk } from './disk.ts';
import { TrustError } from '../errors.ts';
import { acquireLock } from './lock.ts';

const LOCK_WAIT_MILLISECONDS = 10_000;
const MOST_BUNDLES = limitTable.bundles.value;
const PARTS = ['cert', 'key', 'ca'] as const;
/** Paths to stat, including the link that replaces a whole bundle. Parts that are plain files are read again as well when it changes. */
const LOOKED_AT = [...PARTS.map((part) => BUNDLE_FILES[part]), '..data'];

interface Entry {
  readonly name: string;
  readonly directory: string;
  /** `stamp` is undefined if the file was absent, or if the stamp is too recent to detect the next change. */
  readonly files: readonly { readonly path: string; stamp: Stamp | undefined; absent: boolean }[];
  /** Result of the last read. */
  bundle: TlsBundle | undefined;
}

/**
 * Bundles in one directory each: `NAME/{tls.crt,tls.key,ca.crt}`. A bundle that has not changed since the last `list` is not read again,
 * and is the same object.
 * Symbolic links may point outside the directory, since other programs keep certificates elsewhere. Changes of their targets are detected.
 */
export class DirectoryBundles implements Bundles {
  readonly #directory: string;
  readonly #disk: Disk;
  #entries = new Map<string, Entry>();
  /** Stamp of the directory; undefined: list it again. */
  #stamp: Stamp | undefined;
  #isUnlisted = false;
  #latest: BundleSet = { bundles: new Map(), unreadable: new Map() };

  constructor(directory: string, disk: Disk = realDisk) {
    this.#directory = directory;
    this.#disk = disk;
  }

  /** Directories to watch, as of the last `list`. */
  get directories(): readonly string[] {
    return [this.#directory, ...this.#entries.values().map(({ directory }) => directory)];
  }

  locationOf(name: string): string {
    refuseName(name);
    return join(this.#directory, name);
  }

  async list(): Promise<BundleSet> {
    const look = new Look();
    await this.#listNames(look);
    const bundles = new Map<string, TlsBundle>();
    const unreadable = new Map<string, Problem>();
    const entries = [...this.#entries.values()];
    const looked = await look.at(entries.flatMap(({ files }) => files));
    for (const [index, entry] of entries.entries()) {
      try {
        const bundle = await this.#read(entry, looked.slice(index * LOOKED_AT.length, (index + 1) * LOOKED_AT.length));
        if (!isEmpty(bundle)) bundles.set(entry.name, bundle);
        else await refuseOtherKinds(entry.directory);
      } catch (error) {
        unreadable.set(entry.name, problemOf(error));
      }
    }
    const next: BundleSet = { bundles, unreadable, ...(this.#isUnlisted ? { isUnlisted: true } : {}) };
    if (!isSame(this.#latest, next)) this.#latest = next;
    return this.#latest;
  }

  async get(name: string): Promise<TlsBundle | undefined> {
    const entry = this.#entries.get(name) ?? this.#entryOf(name);
    const bundle = await this.#read(entry, await new Look().at(entry.files));
    return isEmpty(bundle) ? undefined : bundle;
  }

  async put(bundle: TlsBundle): Promise<void> {
    await writeBundle(this.locationOf(bundle.name), bundle, this.#disk);
  }

  /** Creates the directory with all its files, or not at all. */
  async make(name: string, make: () => TlsBundle): Promise<TlsBundle> {
    const directory = this.locationOf(name);
    if ((await this.#disk.names(directory)).length === 0) await this.#makeDirectory(directory, make);
    return readBundle(directory, name, this.#disk);
  }

  async #listNames(look: Look): Promise<void> {
    const stamp = await listingStamp(look, this.#directory, Date.now());
    if (stamp !== undefined && this.#stamp !== undefined && isSameStamp(stamp, this.#stamp)) return;
    const names = await namesIn(this.#directory);
    this.#isUnlisted = names === undefined;
    this.#stamp = names === undefined ? undefined : stamp;
    this.#entries = new Map((names ?? []).map((name) => [name, this.#entries.get(name) ?? this.#entryOf(name)]));
  }

  #entryOf(name: string): Entry {
    const directory = this.locationOf(name);
    const files = LOOKED_AT.map((file) => ({ path: join(directory, file), stamp: undefined, absent: false }));
    return { name, directory, files, bundle: undefined };
  }

  /** The stamps are older than the content read here, so the next call detects a change in between. */
  async #read(entry: Entry, looked: readonly Looked[]): Promise<TlsBundle> {
    const { bundle, files, name, directory } = entry;
    if (
      bundle !== undefined &&
      files.every(({ absent }, index) => isAsBefore(looked[index], absent && partOf(bundle, index) === undefined))
    ) {
      return bundle;
    }
    const now = Date.now();
    const read = await readBundle(directory, name, this.#disk);
    entry.bundle = bundle !== undefined && sameBundle(bundle, read) ? bundle : read;
    for (const [index, file] of files.entries()) {
      file.stamp = steadyStamp(file.stamp, looked[index], now);
      file.absent = isAbsent(looked[index]);
    }
    return entry.bundle;
  }

  async #makeDirectory(directory: string, make: () => TlsBundle): Promise<void> {
    const disk = this.#disk;
    await using _lock = await acquireLock(`${directory}.lock`, LOCK_WAIT_MILLISECONDS);
    if ((await disk.names(directory)).length > 0) return;
    await this.#removeUnfinished(directory);
    const unfinished = draftFor(directory);
    await createParts(unfinished, make(), disk);
    using place = securePath(directory);
    await rmdir(place.path).catch((error: unknown) => {
      if (!hasCode(error, 'ENOENT')) throw error;
    });
    await disk.rename(unfinished, directory);
    await disk.syncDirectory(dirname(directory));
  }

  async #removeUnfinished(directory: string): Promise<void> {
    for (const name of await this.#disk.names(this.#directory)) {
      const isOurs = name.startsWith(`.${basename(directory)}.`) && /\.[0-9a-f]{12}\.tmp$/.test(name);
      if (isOurs) await removeTree(join(this.#directory, name));
    }
  }
}

function isAsBefore(found: Looked | undefined, wasAbsent: boolean): boolean {
  return found === 'same' || (wasAbsent && isAbsent(found));
}

const isAbsent = (found: Looked | undefined): boolean => hasCode(found, 'ENOENT', 'ENOTDIR');

function partOf(bundle: TlsBundle, index: number): string | undefined {
  const part = PARTS[index];
  return part === undefined ? undefined : bundle[part];
}

function steadyStamp(before: Stamp | undefined, found: Looked | undefined, now: number): Stamp | undefined {
  if (found === 'same') return before;
  return found === undefined || found instanceof Error || isFresh(found, now) ? undefined : stampOf(found);
}

/** @returns undefined if the directory exists and cannot be listed */
async function namesIn(directory: string): Promise<readonly string[] | undefined> {
  const names: string[] = [];
  try {
    for await (const { name } of await opendir(directory)) {
      if (isResourceName(name)) names.push(name);
      if (names.length === MOST_BUNDLES) break;
    }
  } catch (error) {
    if (!hasCode(error, 'ENOENT', 'ENOTDIR', 'EACCES', 'ELOOP')) throw error;
    return hasCode(error, 'ENOENT') && !(await isThere(directory)) ? [] : undefined;
  }
  return names.sort();
}

/** Also true of a link that leads nowhere. */
async function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

/** @throws TrustError `state-unavailable` for anything but a directory */
async function refuseOtherKinds(directory: string): Promise<void> {
  const isDirectory = await stat(directory).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (isDirectory || !(await isThere(directory))) return;
  throw new TrustError('state-unavailable', `${directory} is not a directory: replace it by one with the files of a TLS bundle`);
}

function isEmpty({ cert, key, ca }: TlsBundle): boolean {
  return cert === undefined && key === undefined && ca === undefined;
}

function isSame(before: BundleSet, next: BundleSet): boolean {
  return (
    before.isUnlisted === next.isUnlisted &&
    before.bundles.size === next.bundles.size &&
    before.unreadable.size === next.unreadable.size &&
    next.bundles.entries().every(([name, bundle]) => before.bundles.get(name) === bundle) &&
    next.unreadable.entries().every(([name, { message }]) => before.unreadable.get(name)?.message === message)
  );
}
