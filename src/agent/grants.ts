/** AccessGrants: the store of codes, and the server where tokens are redeemed. */
import { join } from 'node:path';
import { parseDuration } from '../api/skupper/duration.ts';
import type { AccessGrant } from '../api/skupper/index.ts';
import { grantUrl, startGrantServer } from '../trust/tokens/grant-server.ts';
import { openGrantStore } from '../trust/disk/grant-store.ts';
import { readBundle } from '../trust/disk/bundle-files.ts';
import { TrustError } from '../trust/errors.ts';
import type { IssuedBundle } from '../identity/tls-bundle.ts';
import type { Authority } from '../trust/contract.ts';
import type { Grant, GrantStore, Ledger } from '../trust/stores.ts';
import type { GrantServer, LinkOffer } from '../trust/tokens/contract.ts';
import type { Problem } from '../router/contract.ts';
import type { GrantFacts } from '../site/observe/trust-facts.ts';
import { nameOf } from '../site/resources.ts';
import type { Logger } from '../telemetry/log.ts';
import type { NamespaceLayout } from '../platform/linux/layout.ts';
import { problemOf } from '../errors/problem.ts';

/** The bundle of the server where tokens are redeemed. */
export const GRANT_SERVER_BUNDLE = 'earshot-grant-server';

export interface GrantSettings {
  /** The address of this machine to listen on. Left out: all. */
  readonly host?: string;
  readonly port: number;
  readonly certificateDays?: number;
  /** What others reach this machine by; the first goes into tokens. */
  readonly hosts: readonly string[];
}

export interface Grants extends AsyncDisposable {
  /** Brings store and server in line with the resources. */
  ensure(grants: readonly AccessGrant[], settings: GrantSettings, now: number): Promise<ReadonlyMap<string, GrantFacts>>;
}

export interface GrantsOptions {
  readonly layout: NamespaceLayout;
  readonly ledger: Ledger;
  readonly authority: (issuer: string | undefined) => Promise<Authority>;
  readonly offer: () => LinkOffer;
  readonly log: Logger;
  /** A token was redeemed. */
  readonly onChange: () => void;
}

export function createGrants(options: GrantsOptions): Grants {
  const { layout, ledger, log } = options;
  let store: GrantStore | undefined;
  let server:
    | {
        readonly it: GrantServer;
        readonly host: string | undefined;
        readonly port: number;
        readonly days: number | undefined;
        cert: string;
      }
    | undefined;

  async function closeServer(): Promise<void> {
    const closing = server;
    server = undefined;
    await closing?.it[Symbol.asyncDispose]();
  }

  async function serve(
    opened: GrantStore,
    { host, port, certificateDays }: GrantSettings,
  ): Promise<{ readonly it: GrantServer; readonly ca: string }> {
    const tls = whole(await readBundle(join(layout.internal.certs, GRANT_SERVER_BUNDLE), GRANT_SERVER_BUNDLE));
    if (server !== undefined && (server.host !== host || server.port !== port || server.days !== certificateDays)) await closeServer();
    if (server === undefined) {
      const it = await startGrantServer({
        ...(host === undefined ? {} : { host }),
        port,
        tls,
        store: opened,
        ledger,
        authority: options.authority,
        offer: options.offer,
        log: log.child({ part: 'grants' }),
        ...(certificateDays === undefined ? {} : { certificateDays }),
      });
      server = { it, host, port, days: certificateDays, cert: tls.cert };
      log.info({ port: it.port }, 'tokens can be redeemed');
    } else if (server.cert !== tls.cert) {
      server.it.setTls(tls);
      server.cert = tls.cert;
    }
    return { it: server.it, ca: tls.ca };
  }

  async function ensureStore(): Promise<GrantStore> {
    if (store === undefined) {
      store = await openGrantStore(layout.internal.grants, { ledger });
      store.onChange(options.onChange);
      for (const problem of store.damaged) log.error({ code: problem.code }, problem.message);
    }
    return store;
  }

  async function ensureOne(opened: GrantStore, grant: AccessGrant): Promise<Grant> {
    const { code, redemptionsAllowed, expirationWindow, issuer } = grant.spec;
    return opened.ensure({
      name: nameOf(grant),
      ...(code === undefined || code === '' ? {} : { code }),
      redemptionsAllowed: redemptionsAllowed ?? 1,
      expirationWindowSeconds: Math.max(1, Math.round((parseDuration(expirationWindow ?? '15m') ?? 900_000) / 1000)),
      ...(issuer === undefined || issuer === '' ? {} : { issuer }),
    });
  }

  return {
    ensure: async (grants, settings, now) => {
      const facts = new Map<string, GrantFacts>();
      if (grants.length === 0 && store === undefined) return facts;
      let opened: GrantStore;
      try {
        opened = await ensureStore();
      } catch (error) {
        for (const grant of grants) facts.set(nameOf(grant), { ...unknown, problem: problemOf(error) });
        return facts;
      }
      const wanted = new Set(grants.map(nameOf));
      for (const { name } of opened.list()) if (!wanted.has(name)) await opened.remove(name);
      if (grants.length === 0) {
        await closeServer();
        return facts;
      }
      let served: { readonly it: GrantServer; readonly ca: string } | undefined;
      let trouble: Problem | undefined;
      try {
        served = await serve(opened, settings);
      } catch (error) {
        trouble = portProblem(error, settings.port);
      }
      for (const grant of grants) {
        const name = nameOf(grant);
        try {
          const made = await ensureOne(opened, grant);
          const [host = '127.0.0.1'] = settings.hosts;
          facts.set(name, {
            code: made.code,
            redemptions: made.redemptions,
            redemptionsAllowed: made.redemptionsAllowed,
            expires: made.expires,
            expired: made.expires <= now,
            ...(served === undefined ? {} : { url: grantUrl(host, served.it.port, name), ca: served.ca }),
            ...(trouble === undefined ? {} : { problem: trouble }),
          });
        } catch (error) {
          facts.set(name, { ...unknown, problem: problemOf(error) });
        }
      }
      return facts;
    },
    [Symbol.asyncDispose]: async () => {
      await closeServer();
      await store?.[Symbol.asyncDispose]();
      store = undefined;
    },
  };
}

const unknown: GrantFacts = { redemptions: 0, redemptionsAllowed: 1, expired: false };

function whole(bundle: { readonly name: string; readonly cert?: string; readonly key?: string; readonly ca?: string }): IssuedBundle {
  const { name, cert, key, ca } = bundle;
  if (cert === undefined || key === undefined || ca === undefined) {
    throw new TrustError(
      'state-unavailable',
      `the certificate of the server where tokens are redeemed is not there yet (internal/certs/${name})`,
    );
  }
  return { name, cert, key, ca };
}

function portProblem(error: unknown, port: number): Problem {
  const problem = problemOf(error);
  if (problem.code !== 'port-in-use') return problem;
  return {
    code: 'port-in-use',
    message: `port ${port}, where tokens are to be redeemed, is in use; end what uses it, or choose another by settings.grant-port of the Site`,
  };
}
