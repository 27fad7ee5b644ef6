/** TLS bundles that lie in directories: `NAME/{tls.crt,tls.key,ca.crt}`. */
import { opendir } from 'node:fs/promises';
import { join } from 'node:path';
import type { BundleSet } from '../../agent/ports.ts';
import { sameBundle } from '../../identity/tls-bundle.ts';
import { problemOf, type Problem } from '../../errors/problem.ts';
import type { TlsBundle } from '../../router/contract.ts';
import { readBundle } from '../../trust/disk/bundle-files.ts';
import { hasCode } from '../../files/errno.ts';
import { BUNDLE_FILES, isResourceName } from './layout.ts';
import { isFresh, isSameStamp, lookAt, stampOf, type Looked, type Stamp } from './stamps.ts';

const MOST_BUNDLES = 2000;

const FILES = Object.values(BUNDLE_FILES);

/** Bundles looked at before others get a turn, so that little is held at once. */
const SLICE = 32;

interface Entry {
  readonly name: string;
  readonly directory: string;
  readonly paths: readonly string[];
  known: { readonly stamps: Stamps; readonly bundle: TlsBundle } | undefined;
}

/** Of each file; undefined: there is none. */
type Stamps = readonly (Stamp | undefined)[];

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
    await this.#listNames();
    const bundles = new Map<string, TlsBundle>();
    const unreadable = new Map<string, Problem>();
    const entries = [...this.#entries.values()];
    for (let first = 0; first < entries.length; first += SLICE) {
      const slice = entries.slice(first, first + SLICE);
      const looked = await lookAt(slice.flatMap(({ paths }) => paths));
      for (const [index, entry] of slice.entries()) {
        try {
          const bundle = await this.#readOne(entry, looked.slice(index * FILES.length, (index + 1) * FILES.length));
          if (!isEmpty(bundle)) bundles.set(entry.name, bundle);
        } catch (error) {
          unreadable.set(entry.name, problemOf(error));
        }
      }
    }
    if (!isSame(this.#latest, bundles, unreadable)) this.#latest = { bundles, unreadable };
    return this.#latest;
  }

  /** One of them, with no part where there is none. @throws TrustError */
  async read(name: string): Promise<TlsBundle> {
    const entry = this.#entries.get(name) ?? this.#entryOf(name);
    return this.#readOne(entry, await lookAt(entry.paths));
  }

  async #listNames(): Promise<void> {
    const [found] = await lookAt([this.#folder]);
    const stamp = found === undefined || found instanceof Error || isFresh(found, Date.now()) ? undefined : stampOf(found);
    if (stamp !== undefined && this.#stamp !== undefined && isSameStamp(stamp, this.#stamp)) return;
    const names = await namesIn(this.#folder);
    this.#stamp = stamp;
    this.#entries = new Map(names.map((name) => [name, this.#entries.get(name) ?? this.#entryOf(name)]));
    this.#directories = [this.#folder, ...this.#entries.values().map(({ directory }) => directory)];
  }

  #entryOf(name: string): Entry {
    const directory = join(this.#folder, name);
    return { name, directory, paths: FILES.map((file) => join(directory, file)), known: undefined };
  }

  /** What was looked at is older than what is read: a change in between is seen the next time. */
  async #readOne(entry: Entry, looked: readonly Looked[]): Promise<TlsBundle> {
    const { known, name, directory } = entry;
    if (known !== undefined && looked.every((found, index) => isAsBefore(found, known.stamps[index]))) return known.bundle;
    const stamps = stampsOf(looked, Date.now());
    const read = await this.#read(directory, name);
    const bundle = known !== undefined && sameBundle(known.bundle, read) ? known.bundle : read;
    entry.known = { stamps: stamps ?? [], bundle };
    return bundle;
  }
}

function isAsBefore(found: Looked, before: Stamp | undefined): boolean {
  if (found instanceof Error) return before === undefined && isAbsent(found);
  return before !== undefined && isSameStamp(found, before);
}

/** Undefined where one cannot be relied on. */
function stampsOf(looked: readonly Looked[], now: number): Stamps | undefined {
  const isSteady = looked.every((found) => (found instanceof Error ? isAbsent(found) : !isFresh(found, now)));
  return isSteady ? looked.map((found) => (found instanceof Error ? undefined : stampOf(found))) : undefined;
}

function isAbsent(error: Error): boolean {
  return hasCode(error, 'ENOENT', 'ENOTDIR');
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
