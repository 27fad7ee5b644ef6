import { join } from 'node:path';
import type { Disk } from '../../files/disk.ts';
import { writeDurably } from '../../files/durable.ts';
import { formatAnchor, noAnchor, parseAnchor, type Anchor, type AnchorStore } from '../anchor.ts';
import { realDisk } from './disk.ts';
import { lockTrust } from './lock.ts';

export const ANCHOR = 'anchor.json';
const MAX_BYTES = 64 * 1_048_576;

/** Anchor of a site on a machine: a file in its `internal/` directory, changed under the lock of the ledger. */
export class AnchorFile implements AnchorStore {
  readonly #directory: string;
  readonly #disk: Disk;
  readonly location: string;
  #read: { readonly text: string; readonly anchor: Anchor } | undefined;

  constructor(directory: string, disk: Disk = realDisk) {
    this.#directory = directory;
    this.#disk = disk;
    this.location = join(directory, ANCHOR);
  }

  async get(): Promise<Anchor> {
    const text = (await this.#disk.read(this.location, MAX_BYTES))?.toString('utf8');
    if (text === undefined) return noAnchor;
    if (this.#read?.text !== text) this.#read = { text, anchor: parseAnchor(text) };
    return this.#read.anchor;
  }

  async change(plan: (anchor: Anchor) => Anchor): Promise<void> {
    await using _lock = await lockTrust(this.#directory);
    await this.changeLocked(plan);
  }

  /** The caller must hold the lock. */
  async changeLocked(plan: (anchor: Anchor) => Anchor): Promise<void> {
    const before = await this.get();
    const text = formatAnchor(plan(before));
    if (text !== formatAnchor(before)) await writeDurably(this.location, `${text}\n`, 0o600, this.#disk);
  }
}
