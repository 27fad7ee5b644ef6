/** Files `runtime/certs/NAME/`: copies of the TLS bundles in use, at the place where scripts written for Skupper read them. */
import { readlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { PublishedBundles } from '../../agent/ports.ts';
import { removeTree } from '../../files/secure-path.ts';
import { sameBundle, type TlsBundle } from '../../identity/tls-bundle.ts';
import { DirectoryBundles } from '../../trust/disk/bundles.ts';

export class PublishedBundleFiles implements PublishedBundles {
  readonly #bundles: DirectoryBundles;

  constructor(directory: string) {
    this.#bundles = new DirectoryBundles(directory);
  }

  async write(bundles: readonly TlsBundle[]): Promise<void> {
    const before = (await this.#bundles.list()).bundles;
    for (const bundle of bundles) if (!sameBundle(before.get(bundle.name), bundle)) await this.#bundles.put(bundle);
  }

  async keepOnly(names: readonly string[]): Promise<void> {
    const kept = new Set(names);
    const { bundles } = await this.#bundles.list();
    for (const name of bundles.keys()) if (!kept.has(name)) await this.#removeOwn(this.#bundles.locationOf(name));
  }

  /** Leaves what another program wrote, which has no such link. */
  async #removeOwn(directory: string): Promise<void> {
    const isOwn = await readlink(join(directory, '..data')).then(
      () => true,
      () => false,
    );
    if (isOwn) await removeTree(directory);
  }
}
