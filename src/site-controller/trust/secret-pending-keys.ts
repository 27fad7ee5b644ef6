import { PENDING_KEYS } from '../../api/skupper/cluster-names.ts';
import { refuseName, type PendingKeys } from '../../trust/stores.ts';
import { createKey, isKey } from '../../x509/request.ts';
import type { SiteSecrets } from './site-secrets.ts';

/** Pending keys in one Secret of the site, which its routers cannot read. */
export class SecretPendingKeys implements PendingKeys {
  readonly #secrets: SiteSecrets;

  constructor(secrets: SiteSecrets) {
    this.#secrets = secrets;
  }

  async keyFor(name: string): Promise<string> {
    refuseName(name);
    const created = createKey();
    // An unparsable key was never certified here, so replacing it loses nothing.
    const keys = await this.#secrets.changeState(PENDING_KEYS, (before = {}) =>
      isKey(keyIn(before, name)) ? undefined : { ...before, [name]: created },
    );
    return keyIn(keys, name);
  }

  async drop(name: string): Promise<void> {
    refuseName(name);
    await this.#secrets.changeState(PENDING_KEYS, (before = {}) => {
      const { [name]: dropped, ...others } = before;
      return dropped === undefined ? undefined : others;
    });
  }

  /** Drops all other keys. */
  async keepOnly(names: ReadonlySet<string>): Promise<void> {
    await this.#secrets.changeState(PENDING_KEYS, (before = {}) => {
      const kept = Object.entries(before).filter(([name]) => names.has(name));
      return kept.length === Object.keys(before).length ? undefined : Object.fromEntries(kept);
    });
  }
}

function keyIn(keys: Readonly<Record<string, string>>, name: string): string {
  return (Object.hasOwn(keys, name) ? keys[name] : undefined) ?? '';
}
