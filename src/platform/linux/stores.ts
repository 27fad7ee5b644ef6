import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { GeneratedBundles, Stores, TokenStore } from '../../agent/ports.ts';
import { knownGrant } from '../../agent/grants.ts';
import type { Link } from '../../api/skupper/index.ts';
import { makeDirectory, readText, removeFile, writeDurably } from '../../files/durable.ts';
import { removeTree } from '../../files/secure-path.ts';
import { textsIn, type AnchorStore } from '../../trust/anchor.ts';
import { AnchorFile } from '../../trust/disk/anchor-file.ts';
import { openGrantStore } from '../../trust/disk/grant-store.ts';
import { openLedger } from '../../trust/disk/ledger.ts';
import { DirectoryBundles } from '../../trust/disk/bundles.ts';
import { DirectoryPendingKeys } from '../../trust/disk/pending-keys.ts';
import type { KnownGrant } from '../../trust/stores.ts';
import { openIdentity } from './identity.ts';
import { resourceFileName, type NamespaceLayout } from './layout.ts';
import { listRuntime } from './runtime-resources.ts';
import { RenewalRequestFiles } from './renewal-requests.ts';
import { writeYaml } from '../../text/write-yaml.ts';
import type { Logger } from '../../telemetry/log.ts';
import { isRecord } from '../../text/is-record.ts';
import { isResourceName } from '../../text/names.ts';

/** Stores in `internal/`. */
export function openStores(
  layout: NamespaceLayout,
  bundles: DirectoryBundles,
  log?: Pick<Logger, 'error'>,
  userIssuers: DirectoryBundles = new DirectoryBundles(layout.input.issuers),
): Stores {
  const { input, internal } = layout;
  const anchor = new AnchorFile(internal.root);
  return {
    identity: (mayCreate) => openIdentity(layout, mayCreate, anchor),
    anchor,
    bundles,
    siteAuthority: new DirectoryBundles(internal.site),
    userIssuers: [userIssuers, new DirectoryBundles(input.certs)],
    createdIssuers: new DirectoryBundles(internal.issuers),
    generated: new GeneratedFiles(layout, bundles),
    pendingKeys: new DirectoryPendingKeys(join(internal.root, 'pending')),
    tokens: new TokenFiles(layout, bundles, anchor),
    renewalRequests: new RenewalRequestFiles(layout),
    ledger: () => openLedger(internal.root, { onDamage: ({ code, message }) => log?.error({ code }, message) }),
    grants: async (ledger) => openGrantStore(internal.grants, { ledger, known: await grantsBefore(layout) }),
  };
}

/** Grants in the statuses that the previous process left. */
async function grantsBefore(layout: NamespaceLayout): Promise<ReadonlyMap<string, KnownGrant>> {
  const grants = await listRuntime(layout, 'AccessGrant').catch(() => []);
  return new Map(
    grants.flatMap(({ metadata: { name = '' }, status }) => {
      const known = knownGrant(status);
      return known === undefined ? [] : [[name, known] as const];
    }),
  );
}

class GeneratedFiles implements GeneratedBundles {
  readonly #record: string;
  readonly #bundles: DirectoryBundles;

  constructor({ internal }: NamespaceLayout, bundles: DirectoryBundles) {
    this.#record = internal.generated;
    this.#bundles = bundles;
  }

  /** Without a readable record, bundles stay that no resource names any more. */
  async names(): Promise<ReadonlySet<string>> {
    const text = await readText(this.#record, { bytes: 4 * 1024 * 1024 });
    try {
      const value: unknown = JSON.parse(text ?? '');
      return new Set(Array.isArray(value) ? value.filter(isBundleName) : []);
    } catch {
      return new Set();
    }
  }

  async setNames(names: ReadonlySet<string>): Promise<void> {
    await writeDurably(this.#record, JSON.stringify([...names].sort()), 0o600);
  }

  async remove(name: string): Promise<void> {
    await removeTree(this.#bundles.locationOf(name));
  }
}

const isBundleName = (value: unknown): value is string => typeof value === 'string' && isResourceName(value);

class TokenFiles implements TokenStore {
  readonly #links: string;
  readonly #record: string;
  readonly #bundles: DirectoryBundles;
  readonly #anchor: AnchorStore;

  constructor({ internal }: NamespaceLayout, bundles: DirectoryBundles, anchor: AnchorStore) {
    this.#bundles = bundles;
    this.#anchor = anchor;
    this.#links = internal.links;
    this.#record = join(internal.root, 'redeemed.json');
  }

  /** An entry in only one of record and anchor is copied to the other. */
  async redeemed(): Promise<ReadonlyMap<string, string>> {
    const record = await this.#readRecord();
    const anchored = (await this.#anchor.get()).redeemed ?? {};
    const all = { ...anchored, ...record };
    const redeemed = new Map(Object.entries(all));
    if (!isDeepStrictEqual(all, record) || !isDeepStrictEqual(all, anchored)) await this.setRedeemed(redeemed);
    return redeemed;
  }

  async setRedeemed(marks: ReadonlyMap<string, string>): Promise<void> {
    const redeemed = Object.fromEntries(marks);
    await writeDurably(this.#record, JSON.stringify(redeemed), 0o600);
    await this.#anchor.change((anchor) => ({ ...anchor, redeemed }));
  }

  /** Empty if the file is missing or is not JSON. */
  async #readRecord(): Promise<Readonly<Record<string, string>>> {
    const text = await readText(this.#record, { bytes: 4 * 1024 * 1024 });
    try {
      const value: unknown = JSON.parse(text ?? '');
      return isRecord(value) ? textsIn(value) : {};
    } catch {
      return {};
    }
  }

  async putLink(link: Link): Promise<void> {
    await makeDirectory(this.#links, 0o700);
    await writeDurably(this.#pathOf(link.metadata.name ?? ''), writeYaml(link), 0o600);
  }

  async removeLink(name: string): Promise<void> {
    await removeFile(this.#pathOf(name));
  }

  async createdBundles(): Promise<ReadonlySet<string>> {
    const { bundles, unreadable } = await this.#bundles.list();
    const redeemed = Object.keys(await this.#readRecord());
    return new Set(redeemed.filter((name) => bundles.has(name) || unreadable.has(name)));
  }

  async removeBundle(name: string): Promise<void> {
    if ((await this.createdBundles()).has(name)) await removeTree(this.#bundles.locationOf(name));
  }

  #pathOf(name: string): string {
    return join(this.#links, resourceFileName('Link', name));
  }
}
