/** TLS bundles that lie in directories: `NAME/{tls.crt,tls.key,ca.crt}`. */
import { opendir } from 'node:fs/promises';
import { join } from 'node:path';
import type { BundleSet } from '../../agent/ports.ts';
import { sameBundle } from '../../identity/tls-bundle.ts';
import { problemOf, type Problem } from '../../errors/problem.ts';
import type { TlsBundle } from '../../router/contract.ts';
import { readBundle } from '../../trust/disk/bundle-files.ts';
import { hasCode } from '../../files/errno.ts';
import { BUNDLE_FILES } from './layout.ts';
import { isFresh, isSameStamp, listingStamp, Look, stampOf, type Looked, type Stamp } from './stamps.ts';
import { isResourceName } from '../../text/names.ts';

const MOST_BUNDLES = 2000;

const PARTS = ['cert', 'key', 'ca'] as const;

interface Entry {
  readonly name: string;
  readonly directory: string;
  /** A file without a stamp was not there, or cannot be relied on to be as it was. */
  readonly files: readonly { readonly path: string; stamp: Stamp | undefined }[];
  /** As it was read last. */
  bundle: TlsBundle | undefined;
}

/**
 * Reads what has changed since it was read last; a bundle that has not is the same object. Links may lead out of the folder: other
 * programs keep certificates in their own places, and where a link leads is part of what is compared.
 */
export class BundleFolder {
  readonly #folder: string;
  readonly #read: typeof readBundle;
  #entries = new Map<string, Entry>();
  /** Of the folder; undefined: list it again. */
  #stamp: Stamp | undefined;
  #latest: BundleSet = { bundles: new Map(), unreadable: new Map() };
  #directories: readonly string[];

  constructor(folder: string, read = readBundle) {
    this.#folder = folder;
    this.#read = read;
    this.#directories = [folder];
  }

  /** To watch: as of the last `list`. */
  get directories(): readonly string[] {
    return this.#directories;
  }

  /** The same object as before where nothing has changed. */
  async list(): Promise<BundleSet> {
    const look = new Look();
    await this.#listNames(look);
    const bundles = new Map<string, TlsBundle>();
    const unreadable = new Map<string, Problem>();
    const entries = [...this.#entries.values()];
    const looked = await look.at(entries.flatMap(({ files }) => files));
    for (const [index, entry] of entries.entries()) {
      try {
        const bundle = await this.#readOne(entry, looked.slice(index * PARTS.length, (index + 1) * PARTS.length));
        if (!isEmpty(bundle)) bundles.set(entry.name, bundle);
      } catch (error) {
        unreadable.set(entry.name, problemOf(error));
      }
    }
    if (!isSame(this.#latest, bundles, unreadable)) this.#latest = { bundles, unreadable };
    return this.#latest;
  }

  /** One of them, with no part where there is none. @throws TrustError */
  async read(name: string): Promise<TlsBundle> {
    const entry = this.#entries.get(name) ?? this.#entryOf(name);
    return this.#readOne(entry, await new Look().at(entry.files));
  }

  async #listNames(look: Look): Promise<void> {
    const stamp = await listingStamp(look, this.#folder, Date.now());
    if (stamp !== undefined && this.#stamp !== undefined && isSameStamp(stamp, this.#stamp)) return;
    const names = await namesIn(this.#folder);
    this.#stamp = stamp;
    this.#entries = new Map(names.map((name) => [name, this.#entries.get(name) ?? this.#entryOf(name)]));
    this.#directories = [this.#folder, ...this.#entries.values().map(({ directory }) => directory)];
  }

  #entryOf(name: string): Entry {
    const directory = join(this.#folder, name);
    return {
      name,
      directory,
      files: PARTS.map((part) => ({ path: join(directory, BUNDLE_FILES[part]), stamp: undefined })),
      bundle: undefined,
    };
  }

  /** What was looked at is older than what is read: a change in between is seen the next time. */
  async #readOne(entry: Entry, looked: readonly Looked[]): Promise<TlsBundle> {
    const { bundle, files, name, directory } = entry;
    if (bundle !== undefined && PARTS.every((part, index) => isAsBefore(looked[index], bundle[part]))) return bundle;
    const now = Date.now();
    const read = await this.#read(directory, name);
    entry.bundle = bundle !== undefined && sameBundle(bundle, read) ? bundle : read;
    for (const [index, file] of files.entries()) file.stamp = steadyStamp(file.stamp, looked[index], now);
    return entry.bundle;
  }
}

function isAsBefore(found: Looked | undefined, before: string | undefined): boolean {
  return found === 'same' || (before === undefined && hasCode(found, 'ENOENT', 'ENOTDIR'));
}

function steadyStamp(before: Stamp | undefined, found: Looked | undefined, now: number): Stamp | undefined {
  if (found === 'same') return before;
  return found === undefined || found instanceof Error || isFresh(found, now) ? undefined : stampOf(found);
}

async function namesIn(folder: string): Promise<readonly string[]> {
  const names: string[] = [];
  try {
    for await (const { name } of await opendir(folder)) {
      if (isResourceName(name)) names.push(name);
      if (names.length === MOST_BUNDLES) break;
    }
  } catch (error) {
    if (!hasCode(error, 'ENOENT', 'ENOTDIR', 'EACCES')) throw error;
  }
  return names.sort();
}

function isEmpty({ cert, key, ca }: TlsBundle): boolean {
  return cert === undefined && key === undefined && ca === undefined;
}

function isSame(before: BundleSet, bundles: BundleSet['bundles'], unreadable: BundleSet['unreadable']): boolean {
  return (
    before.bundles.size === bundles.size &&
    before.unreadable.size === unreadable.size &&
    bundles.entries().every(([name, bundle]) => before.bundles.get(name) === bundle) &&
    unreadable.entries().every(([name, { message }]) => before.unreadable.get(name)?.message === message)
  );
}
