import { access } from 'node:fs/promises';
import { join } from 'node:path';
import type { AuthorityStore, Bundles, Stores, TokenStore } from '../../agent/ports.ts';
import type { Link } from '../../api/skupper/index.ts';
import { makeDirectory, readText, writeDurably } from '../../files/durable.ts';
import { readAuthority, siteAuthority } from '../../trust/authority.ts';
import type { Authority } from '../../trust/contract.ts';
import { writeBundle } from '../../trust/disk/bundle-files.ts';
import { openGrantStore } from '../../trust/disk/grant-store.ts';
import { TrustError } from '../../trust/errors.ts';
import { openLedger } from '../../trust/disk/ledger.ts';
import { DirectoryBundles } from '../../trust/disk/bundles.ts';
import { DirectoryPendingKeys } from '../../trust/disk/pending-keys.ts';
import type { BundleFolder } from './bundles.ts';
import { openIdentity } from './identity.ts';
import { resourceFileName, type NamespaceLayout } from './layout.ts';
import { openRenewalRequests } from './renewal-requests.ts';
import { writeYaml } from '../../text/write-yaml.ts';
import { isRecord } from '../../text/is-record.ts';
import { quoted } from '../../text/printable.ts';
import { isResourceName } from '../../text/names.ts';

/** What a site keeps in `internal/`. */
export function openStores(layout: NamespaceLayout, issued: BundleFolder): Stores {
  const { internal } = layout;
  return {
    identity: (mayCreate) => openIdentity(layout, mayCreate),
    bundles: bundlesIn(internal.certs, issued),
    authorities: new AuthorityFolders(layout),
    pendingKeys: new DirectoryPendingKeys(join(internal.root, 'pending')),
    tokens: new TokenFiles(layout),
    renewalRequests: openRenewalRequests(layout),
    ledger: () => openLedger(internal.trust),
    grants: (ledger) => openGrantStore(internal.grants, { ledger }),
  };
}

function bundlesIn(folder: string, issued: BundleFolder): Bundles {
  return {
    list: () => issued.list(),
    read: (name) => issued.read(name),
    write: (bundle) => writeBundle(join(folder, bundle.name), bundle),
    location: (name) => `internal/certs/${name}`,
  };
}

class AuthorityFolders implements AuthorityStore {
  readonly #layout: NamespaceLayout;

  constructor(layout: NamespaceLayout) {
    this.#layout = layout;
  }

  site(siteName: string): Promise<Authority> {
    return siteAuthority(new DirectoryBundles(this.#layout.internal.site), 'ca', { siteName });
  }

  hasSite(): Promise<boolean> {
    return isThere(join(this.#layout.internal.ca, 'tls.crt'));
  }

  async named(name: string): Promise<Authority> {
    if (!isResourceName(name)) {
      throw new TrustError('authority-missing', `${quoted(name)} cannot be the name of a certificate authority`);
    }
    const { input, internal } = this.#layout;
    for (const folder of [input.issuers, internal.certs, input.certs]) {
      const directory = join(folder, name);
      if (await isThere(directory)) return readAuthority(new DirectoryBundles(folder), name);
    }
    throw new TrustError(
      'authority-missing',
      `there is no certificate authority named ${name}; put its tls.crt and tls.key into ${join(input.issuers, name)}/`,
    );
  }

  selfSigned(name: string, subject: string): Promise<Authority> {
    return siteAuthority(new DirectoryBundles(this.#layout.internal.certs), name, { siteName: subject });
  }
}

class TokenFiles implements TokenStore {
  readonly #links: string;
  readonly #record: string;

  constructor({ internal }: NamespaceLayout) {
    this.#links = internal.links;
    this.#record = join(internal.root, 'redeemed.json');
  }

  async redeemed(): Promise<ReadonlyMap<string, string>> {
    const text = await readText(this.#record, { bytes: 4 * 1024 * 1024 });
    try {
      const value: unknown = JSON.parse(text ?? '{}');
      return new Map(
        Object.entries(isRecord(value) ? value : {}).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
      );
    } catch {
      return new Map();
    }
  }

  async setRedeemed(redeemed: ReadonlyMap<string, string>): Promise<void> {
    await writeDurably(this.#record, JSON.stringify(Object.fromEntries(redeemed)), 0o600);
  }

  async putLink(link: Link): Promise<void> {
    await makeDirectory(this.#links, 0o700);
    await writeDurably(join(this.#links, resourceFileName('Link', link.metadata.name ?? '')), writeYaml(link), 0o600);
  }
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
