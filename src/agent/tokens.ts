import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { AccessToken, Link, Site } from '../api/skupper/index.ts';
import { API_VERSION } from '../api/skupper/names.ts';
import { problemOf } from '../errors/problem.ts';
import type { TokenFacts } from '../site/observe/trust-facts.ts';
import { nameOf } from '../site/resources.ts';
import { SITE_ID } from '../site/token-link.ts';
import { bounded, detached } from '../telemetry/boundary.ts';
import { messageOf, type Logger } from '../telemetry/log.ts';
import type { Redeemed, Token } from '../trust/tokens/contract.ts';
import { TrustError } from '../trust/errors.ts';
import { renewalDue } from '../trust/renewal.ts';
import { redeemToken, ServerBusyError } from '../trust/tokens/redeem.ts';
import { retryOf } from '../trust/tokens/retry.ts';
import { parseToken } from '../trust/tokens/token.ts';
import { KeyedMutex } from '../work/keyed-mutex.ts';
import { Semaphore } from '../limits/loop/semaphore.ts';
import { CertificateError } from '../x509/errors.ts';
import { readCertificates } from '../x509/facts.ts';
import type { Identity, Stores } from './ports.ts';
import { UnusedBundles } from './unused-bundles.ts';
import { limitTable } from '../limits/table.ts';

export interface TokensOptions {
  readonly stores: Pick<Stores, 'bundles' | 'pendingKeys' | 'tokens'>;
  readonly identity: Identity;
  readonly log: Logger;
  /** Called after a token was redeemed or failed. */
  readonly onChange: () => void;
}

/**
 * Number of concurrent attempts. The author of a token chooses its address, so many unreachable ones must not use up the sockets of the
 * process.
 */
const AT_ONCE = limitTable.redemptionAttempts.value;
/** Milliseconds; the maximum delay of a timer. */
const FOREVER = 2 ** 31 - 1;

interface Attempt {
  readonly name: string;
  readonly siteName: string;
  readonly spec: AccessToken['spec'];
  readonly mark: string;
  /** performance.now() at the start. */
  readonly since: number;
  /** Aborted when the token is no longer desired. Results after that are discarded. */
  readonly end: AbortController;
  facts: TokenFacts;
  failures: number;
  /** Redemption that is not fully stored yet. The remote site has it on record and need not issue another certificate. */
  received?: Redeemed;
  timer?: ReturnType<typeof setTimeout>;
}

/**
 * Redeems each AccessToken once and stores its TLS bundle and Link. Deleting or changing a token, or its Site, aborts the attempt at any
 * step: a Link is created only for an existing token.
 */
export class Tokens implements Disposable {
  readonly #options: TokensOptions;
  readonly #attempts = new Map<string, Attempt>();
  #taken: ReadonlySet<string> = new Set();
  readonly #keeping = new KeyedMutex();
  readonly #turns = new Semaphore(AT_ONCE, Infinity);
  readonly #unused = new UnusedBundles();
  #redeemed: Map<string, string> | undefined;

  constructor(options: TokensOptions) {
    this.#options = options;
  }

  /**
   * Starts redeeming new tokens; later attempts run by themselves.
   * @param taken names of the site's own TLS bundles. The name of a token comes from its file, which another site may have written
   */
  async ensure(
    tokens: readonly AccessToken[],
    site: Site,
    taken: ReadonlySet<string> = new Set(),
  ): Promise<ReadonlyMap<string, TokenFacts>> {
    this.#taken = taken;
    this.#redeemed ??= new Map(await this.#options.stores.tokens.redeemed());
    const siteName = nameOf(site);
    const desired = new Map(tokens.map((token) => [nameOf(token), token]));
    for (const attempt of this.#attempts.values()) {
      const spec = desired.get(attempt.name)?.spec;
      const isFree = attempt.facts.problem?.code === 'name-taken' && !taken.has(attempt.name);
      if (isFree || attempt.siteName !== siteName || !isDeepStrictEqual(spec, attempt.spec)) this.#giveUp(attempt);
    }
    for (const token of tokens) if (!this.#attempts.has(nameOf(token))) this.#begin(token, siteName, this.#redeemed);
    return new Map([...this.#attempts].map(([name, { facts }]) => [name, facts]));
  }

  /**
   * Removes bundles of tokens that no resource refers to.
   * @param inUse names that resources refer to; undefined if a resource is unreadable, and then nothing is removed
   * @returns when the next bundle is due for removal
   */
  async removeUnused(inUse: ReadonlySet<string> | undefined, now: number): Promise<number | undefined> {
    const { stores, log } = this.#options;
    // The bundle of a token that is being redeemed exists before its Link.
    const busy = [...this.#attempts.values()].flatMap(({ name, facts }) => (facts.redeemed ? [] : [name]));
    const { unused, due } = this.#unused.find(
      await stores.tokens.createdBundles(),
      inUse === undefined ? undefined : inUse.union(new Set(busy)),
      now,
    );
    for (const name of unused) {
      try {
        await this.#removeBundle(name);
        log.info({ bundle: name }, 'bundle of a deleted Link removed');
      } catch (error) {
        log.warn({ bundle: name, error }, `the bundle of a deleted Link cannot be removed: ${messageOf(error)}`);
      }
    }
    return due;
  }

  [Symbol.dispose](): void {
    for (const attempt of this.#attempts.values()) this.#giveUp(attempt);
  }

  async #removeBundle(name: string): Promise<void> {
    const { tokens, pendingKeys } = this.#options.stores;
    await tokens.removeBundle(name);
    // A renewal without an answer may have left a pending key.
    await pendingKeys.drop(name);
    if (this.#attempts.has(name) || this.#redeemed?.delete(name) !== true) return;
    await tokens.setRedeemed(this.#redeemed);
  }

  #giveUp(attempt: Attempt): void {
    attempt.end.abort();
    clearTimeout(attempt.timer);
    this.#attempts.delete(attempt.name);
  }

  #begin(resource: AccessToken, siteName: string, redeemed: ReadonlyMap<string, string>): void {
    const name = nameOf(resource);
    const mark = tokenMark(resource);
    const facts = { redeemed: redeemed.get(name) === mark };
    const end = new AbortController();
    const attempt: Attempt = { name, siteName, spec: resource.spec, mark, since: performance.now(), end, facts, failures: 0 };
    this.#attempts.set(name, attempt);
    if (facts.redeemed) return;
    try {
      this.#refuseTaken(name);
      this.#start(attempt, parseToken(resource, `AccessToken ${name}`));
    } catch (error) {
      attempt.facts = { redeemed: false, problem: problemOf(error) };
    }
  }

  #start(attempt: Attempt, token: Token): void {
    detached('pass/redemption', () => this.#run(attempt, token));
  }

  async #run(attempt: Attempt, token: Token): Promise<void> {
    const { signal } = attempt.end;
    const turn = this.#turns.take({ signal, deadline: FOREVER }).catch(() => 'aborted');
    if ((await turn) !== 'granted') return;
    try {
      await this.#redeem(attempt, token);
    } catch (error) {
      if (signal.aborted || this.#failed(attempt, token, error) === 'unchanged') return;
    } finally {
      this.#turns.giveBack();
    }
    this.#options.onChange();
  }

  async #redeem(attempt: Attempt, token: Token): Promise<void> {
    const { stores, identity, log } = this.#options;
    const { name, siteName, end } = attempt;
    if (attempt.received === undefined || isPastItsPrime(attempt.received)) {
      const key = await stores.pendingKeys.keyFor(pendingKeyOf(name));
      attempt.received = await redeemToken(token, { siteName, siteId: identity.id, siteKey: identity.key, key, signal: end.signal });
    }
    const redeemed = attempt.received;
    await this.#keeping.run(name, () => this.#keep(attempt, redeemed));
    await stores.pendingKeys.drop(pendingKeyOf(name));
    delete attempt.received;
    attempt.facts = { redeemed: true };
    log.info({ token: name, site: redeemed.offer.siteName }, 'token redeemed');
  }

  /**
   * Writes the bundle first, then the Links that need it, then the record that the token is used. A crash in between costs another attempt
   * with the same key.
   */
  async #keep({ name, mark, end }: Attempt, { offer, linkCost, bundle }: Redeemed): Promise<void> {
    const { stores } = this.#options;
    end.signal.throwIfAborted();
    this.#refuseTaken(name);
    await stores.bundles.put({ ...bundle, name });
    end.signal.throwIfAborted();
    const link: Link = {
      apiVersion: API_VERSION,
      kind: 'Link',
      metadata: { name, annotations: { [SITE_ID]: offer.siteId, 'earshot/site-name': offer.siteName } },
      spec: { endpoints: offer.endpoints, cost: linkCost, tlsCredentials: name },
    };
    const links = linksByGroup(link);
    for (const each of links) await stores.tokens.putLink(each);
    if (end.signal.aborted) {
      for (const each of links) await stores.tokens.removeLink(nameOf(each));
      throw end.signal.reason;
    }
    this.#redeemed?.set(name, mark);
    await stores.tokens.setRedeemed(this.#redeemed ?? new Map());
  }

  #refuseTaken(name: string): void {
    if (!this.#taken.has(name)) return;
    const words = `${name} is already the name of a Link or TLS bundle of this site, which the token would replace`;
    throw new TrustError('name-taken', `${words}: give the token another name (metadata.name, or --name when it is redeemed)`);
  }

  /** A user waits for the token: report the first failure at once, and later ones only if they differ. */
  #failed(attempt: Attempt, token: Token, error: unknown): 'changed' | 'unchanged' {
    const code = error instanceof TrustError || error instanceof CertificateError ? error.code : undefined;
    const asked = error instanceof ServerBusyError ? error.asked : 0;
    attempt.failures += 1;
    const { failures, since, facts: before } = attempt;
    const retry = retryOf({ code, failures, since: performance.now() - since, asked }, Math.random());
    if (retry !== undefined) {
      const again = (): void => this.#start(attempt, token);
      attempt.timer = setTimeout(bounded('pass/redemption-again', again, again), retry.after);
      attempt.timer.unref();
    }
    const problem = problemOf(error);
    const retrying = retry === undefined ? 'never' : retry.isQuiet ? 'soon' : 'later';
    attempt.facts = { redeemed: false, problem, retrying };
    if (retrying !== 'soon') {
      this.#options.log.warn({ token: attempt.name, code: problem.code, retrying }, `token not redeemed: ${problem.message}`);
    }
    return isDeepStrictEqual(before, attempt.facts) ? 'unchanged' : 'changed';
  }
}

/**
 * Creates one Link for each group of endpoints. A group is one router of the remote site, so a second Link survives the loss of one router.
 */
export function linksByGroup(link: Link): readonly Link[] {
  const groups = [...Map.groupBy(link.spec.endpoints, ({ group = '' }) => group).values()];
  if (groups.length < 2) return [link];
  return groups.map((endpoints, index) => ({
    ...link,
    metadata: { ...link.metadata, name: `${nameOf(link)}-${index + 1}` },
    spec: { ...link.spec, endpoints },
  }));
}

/** Name of the key of a token's certificate in `PendingKeys`. */
export const pendingKeyOf = (token: string): string => `token-${token}`;

function isPastItsPrime({ bundle: { name, cert = '' } }: Redeemed): boolean {
  return renewalDue(readCertificates(cert, name)[0].facts) <= Date.now();
}

/** Distinguishes tokens of the same name without storing the code. If objects have UIDs, a re-created token counts as another one. */
export function tokenMark({ metadata: { uid }, spec: { url, code } }: AccessToken): string {
  return createHash('sha256')
    .update(JSON.stringify([url, code, ...(uid === undefined ? [] : [uid])]))
    .digest('hex');
}
