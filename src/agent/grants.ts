/** Reconciles AccessGrants: the store of codes, and the server for redeeming tokens. */
import { DEFAULT_EXPIRATION_WINDOW } from '../api/skupper/names.ts';
import { parseDuration } from '../api/skupper/duration.ts';
import type { AccessGrant, AccessGrantStatus } from '../api/skupper/index.ts';
import { problemOf, type Problem } from '../errors/problem.ts';
import type { TlsBundle } from '../router/contract.ts';
import type { GrantFacts } from '../site/observe/trust-facts.ts';
import { nameOf } from '../site/resources.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Authority } from '../trust/contract.ts';
import type { Grant, GrantSpec, GrantStore, KnownGrant, Ledger } from '../trust/stores.ts';
import type { GrantServer, LinkOffer } from '../trust/tokens/contract.ts';
import type { IssuedBundle } from '../identity/tls-bundle.ts';
import { TrustError } from '../trust/errors.ts';
import { grantUrl, startGrantServer } from '../trust/tokens/grant-server.ts';
import type { Stores } from './ports.ts';

/** Milliseconds of the default, for a grant whose window cannot be parsed, and for repeats of a redemption. */
const DEFAULT_MS = parseDuration(DEFAULT_EXPIRATION_WINDOW) ?? 0;

export const GRANT_SERVER_BUNDLE = 'earshot-grant-server';

export interface GrantSettings {
  /** Address to listen on; all addresses if omitted. */
  readonly host?: string;
  readonly port: number;
  readonly certificateDays?: number;
  /** Hosts under which other sites reach this site. Tokens contain the first. */
  readonly hosts: readonly string[];
}

export interface GrantsOptions {
  readonly stores: Pick<Stores, 'bundles' | 'grants'>;
  readonly ledger: Ledger;
  readonly authority: (issuer: string | undefined) => Promise<Authority>;
  readonly offer: () => LinkOffer;
  readonly log: Logger;
  /** Called after a token was redeemed. */
  readonly onChange: () => void;
}

interface Serving {
  readonly server: GrantServer;
  readonly settings: GrantSettings;
  cert: string;
}

export class Grants implements AsyncDisposable {
  readonly #options: GrantsOptions;
  #store: GrantStore | undefined;
  #serving: Serving | undefined;

  constructor(options: GrantsOptions) {
    this.#options = options;
  }

  /** @param isUnread whether a grant of that name may exist but is unreadable now: it is not served, and its record is kept */
  async ensure(
    grants: readonly AccessGrant[],
    isUnread: (name: string) => boolean,
    settings: GrantSettings,
    now: number,
  ): Promise<ReadonlyMap<string, GrantFacts>> {
    if (grants.length === 0 && this.#store === undefined) return new Map();
    let store: GrantStore;
    try {
      store = await this.#openStore();
    } catch (error) {
      return new Map(grants.map((grant) => [nameOf(grant), { ...unknown, problem: problemOf(error) }]));
    }
    const desired = new Set(grants.map(nameOf));
    for (const { name } of store.list()) if (!desired.has(name) && !isUnread(name)) await store.remove(name);
    const records = new Map<string, Grant | Problem>();
    for (const grant of grants) records.set(nameOf(grant), await store.ensure(grantSpecOf(grant, nameOf(grant))).catch(problemOf));
    const isServed = [...records.values()].some((record) => 'expires' in record && isServable(record, now));
    if (!isServed) await this.#stopServing();
    const served = isServed ? await this.#tryServe(store, settings) : undefined;
    return new Map([...records].map(([name, record]) => [name, factsOf(record, served, settings, now)]));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stopServing();
    await this.#store?.[Symbol.asyncDispose]();
    this.#store = undefined;
  }

  async #openStore(): Promise<GrantStore> {
    if (this.#store === undefined) {
      const { stores, ledger, log, onChange } = this.#options;
      this.#store = await stores.grants(ledger);
      this.#store.onChange(onChange);
      for (const problem of this.#store.damaged) log.error({ code: problem.code }, problem.message);
    }
    return this.#store;
  }

  async #tryServe(store: GrantStore, settings: GrantSettings): Promise<Served> {
    try {
      return await this.#serve(store, settings);
    } catch (error) {
      return { problem: portProblem(error, settings.port) };
    }
  }

  async #serve(store: GrantStore, settings: GrantSettings): Promise<Served> {
    const { bundles } = this.#options.stores;
    const tls = whole(await bundles.get(GRANT_SERVER_BUNDLE), bundles.locationOf(GRANT_SERVER_BUNDLE));
    if (this.#serving !== undefined && !isAlike(this.#serving.settings, settings)) await this.#stopServing();
    if (this.#serving === undefined) {
      this.#serving = { server: await this.#start(store, settings, tls), settings, cert: tls.cert };
      this.#options.log.info({ port: this.#serving.server.port }, 'tokens can be redeemed');
    } else if (this.#serving.cert !== tls.cert) {
      this.#serving.server.setTls(tls);
      this.#serving.cert = tls.cert;
    }
    return { port: this.#serving.server.port, ca: tls.ca };
  }

  #start(store: GrantStore, { host, port, certificateDays }: GrantSettings, tls: IssuedBundle): Promise<GrantServer> {
    const { ledger, authority, offer, log } = this.#options;
    const realm = { store, ledger, authority, offer, ...(certificateDays === undefined ? {} : { certificateDays }) };
    return startGrantServer({ ...(host === undefined ? {} : { host }), port, tls, realm: () => realm, log: log.child({ part: 'grants' }) });
  }

  async #stopServing(): Promise<void> {
    const serving = this.#serving;
    this.#serving = undefined;
    await serving?.server[Symbol.asyncDispose]();
  }
}

type Served = { readonly port: number; readonly ca: string } | { readonly problem: Problem };

const unknown: GrantFacts = { redemptions: 0, redemptionsAllowed: 1, expired: false };

/** @param served undefined if no grant needs the server */
function factsOf(record: Grant | Problem, served: Served | undefined, { hosts }: GrantSettings, now: number): GrantFacts {
  if (!('expires' in record)) return { ...unknown, problem: record };
  const { name, code, redemptions, redemptionsAllowed, expires } = record;
  const [host = '127.0.0.1'] = hosts;
  const address = served === undefined || 'problem' in served ? served : { url: grantUrl(host, served.port, name), ca: served.ca };
  return { code, redemptions, redemptionsAllowed, expires, expired: expires <= now, ...address };
}

/** Whether the server has to be open for the grant. After the last redemption it stays open for a time, since the answer may be lost. */
function isServable({ redemptions, redemptionsAllowed, expires, redeemedBy }: Grant, now: number): boolean {
  if (expires <= now) return false;
  const last = redeemedBy.at(-1)?.at ?? Number.NEGATIVE_INFINITY;
  return redemptions < redemptionsAllowed || now - last < DEFAULT_MS;
}

/** @param name name of the grant in its store and in the URL */
export function grantSpecOf(
  { spec: { code, redemptionsAllowed, expirationWindow, issuer }, status }: AccessGrant,
  name: string,
): GrantSpec {
  const known = knownGrant(status);
  return {
    name,
    ...(known === undefined ? {} : { known }),
    ...(code === undefined || code === '' ? {} : { code }),
    redemptionsAllowed: Math.max(1, redemptionsAllowed ?? 1),
    expirationWindowSeconds: Math.max(1, Math.round((parseDuration(expirationWindow ?? DEFAULT_EXPIRATION_WINDOW) ?? DEFAULT_MS) / 1000)),
    ...(issuer === undefined || issuer === '' ? {} : { issuer }),
  };
}

/** Undefined if the grant has never been reconciled. */
export function knownGrant({ redemptions = 0, expirationTime }: Partial<AccessGrantStatus> = {}): KnownGrant | undefined {
  const expires = Date.parse(expirationTime ?? '');
  return Number.isNaN(expires) ? undefined : { redemptions, expires };
}

function isAlike(one: GrantSettings, other: GrantSettings): boolean {
  return one.host === other.host && one.port === other.port && one.certificateDays === other.certificateDays;
}

function whole({ cert, key, ca }: Partial<TlsBundle> = {}, location: string): IssuedBundle {
  if (cert !== undefined && key !== undefined && ca !== undefined) return { name: GRANT_SERVER_BUNDLE, cert, key, ca };
  throw new TrustError('state-unavailable', `the certificate of the grant server does not exist yet (${location})`);
}

function portProblem(error: unknown, port: number): Problem {
  const problem = problemOf(error);
  if (problem.code !== 'port-in-use') return problem;
  return {
    code: 'port-in-use',
    message: `port ${port} of the grant server is in use, perhaps by the site of another namespace; stop that program, or choose another port with \`earshot site update --grant-port 9091\``,
  };
}
