import { join } from 'node:path';
import { pino } from 'pino';
import { grantUrl, startGrantServer } from '../../../../src/trust/tokens/grant-server.ts';
import { issueBundle } from '../../../../src/trust/issue.ts';
import { openGrantStore } from '../../../../src/trust/disk/grant-store.ts';
import { openLedger } from '../../../../src/trust/disk/ledger.ts';
import type { Authority } from '../../../../src/trust/contract.ts';
import type { GrantSpec, GrantStore, Ledger } from '../../../../src/trust/stores.ts';
import type { GrantRealm, GrantServer, GrantServerOptions, LinkOffer, Token } from '../../../../src/trust/tokens/contract.ts';
import { makePlace } from './place.ts';
import { makeAuthority } from './site.ts';

export const offer: LinkOffer = {
  siteId: '521b6329-d741-89f7-b6de-37f28aa75c79',
  siteName: 'west',
  endpoints: [{ name: 'inter-router', host: 'west.example.com', port: '55671' }],
};

export interface GrantingSite extends AsyncDisposable {
  readonly path: string;
  readonly authority: Authority;
  readonly ledger: Ledger;
  readonly store: GrantStore;
  readonly server: GrantServer;
  /** Everything that was logged, as JSON. */
  readonly logged: readonly string[];
  /** Makes a grant and the token for it. */
  issue(spec?: Partial<GrantSpec>): Promise<Token>;
}

/** A site's grant server on 127.0.0.1, with all that it needs. */
export async function startGranting({
  authority: signer,
  offer: offered = () => offer,
  certificateDays,
  ...options
}: Partial<Omit<GrantServerOptions, 'realm'> & Omit<GrantRealm, 'store' | 'ledger'>> = {}): Promise<GrantingSite> {
  const place = await makePlace();
  const authority = makeAuthority();
  const clock = options.clock ?? Date.now;
  const ledger = await openLedger(place.path, { clock });
  const store = await openGrantStore(join(place.path, 'grants'), { ledger, clock });
  const logged: string[] = [];
  const log = pino({ messageKey: 'message' }, { write: (line) => void logged.push(line) });
  const days = certificateDays === undefined ? {} : { certificateDays };
  const realm: GrantRealm = { store, ledger, authority: signer ?? (() => authority), offer: offered, ...days };
  const server = await startGrantServer({
    host: '127.0.0.1',
    port: 0,
    tls: issueBundle(authority, 'grant-server', { subject: 'grant server', hosts: ['127.0.0.1', 'localhost'], server: true }),
    realm: () => realm,
    log,
    ...options,
  });
  return {
    path: place.path,
    authority,
    ledger,
    store,
    server,
    logged,
    issue: async (spec = {}) => {
      const grant = await store.ensure({ name: 'g', redemptionsAllowed: 1, expirationWindowSeconds: 900, ...spec });
      return { name: 'to-west', url: grantUrl('127.0.0.1', server.port, grant.name), code: grant.code, ca: authority.ca };
    },
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
      await place[Symbol.asyncDispose]();
    },
  };
}
