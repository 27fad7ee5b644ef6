import { createHash } from 'node:crypto';
import type { AccessToken, Link, Site } from '../api/skupper/index.ts';
import { API_VERSION } from '../api/skupper/names.ts';
import { problemOf } from '../errors/problem.ts';
import type { TokenFacts } from '../site/observe/trust-facts.ts';
import { nameOf } from '../site/resources.ts';
import { bounded, detached } from '../telemetry/boundary.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Redeemed, Token } from '../trust/tokens/contract.ts';
import { TrustError } from '../trust/errors.ts';
import { redeemToken, ServerBusyError } from '../trust/tokens/redeem.ts';
import { retryOf } from '../trust/tokens/retry.ts';
import { parseToken } from '../trust/tokens/token.ts';
import { CertificateError } from '../x509/errors.ts';
import type { Identity, Stores } from './ports.ts';

export interface TokensOptions {
  readonly stores: Pick<Stores, 'bundles' | 'pendingKeys' | 'tokens'>;
  readonly identity: Identity;
  readonly log: Logger;
  /** A token was redeemed or failed. */
  readonly onChange: () => void;
}

interface Attempt {
  readonly name: string;
  readonly site: Site;
  readonly mark: string;
  /** performance.now() */
  readonly since: number;
  facts: TokenFacts;
  failures: number;
  running: boolean;
  timer?: ReturnType<typeof setTimeout>;
}

/** AccessTokens: each is redeemed once, and becomes a TLS bundle and a Link. */
export class Tokens implements Disposable {
  readonly #options: TokensOptions;
  readonly #attempts = new Map<string, Attempt>();
  readonly #end = new AbortController();
  #redeemed: Map<string, string> | undefined;

  constructor(options: TokensOptions) {
    this.#options = options;
  }

  /** Starts redeeming what is new; the rest goes on by itself. */
  async ensure(tokens: readonly AccessToken[], site: Site): Promise<ReadonlyMap<string, TokenFacts>> {
    this.#redeemed ??= new Map(await this.#options.stores.tokens.redeemed());
    const names = new Set(tokens.map(nameOf));
    for (const [name, { timer }] of this.#attempts) {
      if (names.has(name)) continue;
      clearTimeout(timer);
      this.#attempts.delete(name);
    }
    for (const token of tokens) this.#ensureOne(token, site, this.#redeemed);
    return new Map([...this.#attempts].map(([name, { facts }]) => [name, facts]));
  }

  [Symbol.dispose](): void {
    this.#end.abort();
    for (const { timer } of this.#attempts.values()) clearTimeout(timer);
  }

  #ensureOne(resource: AccessToken, site: Site, redeemed: ReadonlyMap<string, string>): void {
    const name = nameOf(resource);
    const mark = markOf(resource);
    const before = this.#attempts.get(name);
    if (before?.mark === mark || before?.running === true) return;
    clearTimeout(before?.timer);
    const since = performance.now();
    const attempt: Attempt = { name, site, mark, since, facts: { redeemed: redeemed.get(name) === mark }, failures: 0, running: false };
    this.#attempts.set(name, attempt);
    if (attempt.facts.redeemed) return;
    try {
      this.#start(attempt, parseToken(resource, `AccessToken ${name}`));
    } catch (error) {
      attempt.facts = { redeemed: false, problem: problemOf(error) };
    }
  }

  #start(attempt: Attempt, token: Token): void {
    detached('pass/redemption', () => this.#run(attempt, token));
  }

  async #run(attempt: Attempt, token: Token): Promise<void> {
    attempt.running = true;
    try {
      await this.#redeem(attempt, token);
    } catch (error) {
      if (this.#end.signal.aborted || this.#failed(attempt, token, error) === 'quiet') return;
    } finally {
      attempt.running = false;
    }
    this.#options.onChange();
  }

  async #redeem(attempt: Attempt, token: Token): Promise<void> {
    const { stores, identity, log } = this.#options;
    const { name, site } = attempt;
    const key = await stores.pendingKeys.keyFor(`token-${name}`);
    const redeemed = await redeemToken(token, {
      siteName: nameOf(site),
      siteId: identity.id,
      siteKey: identity.key,
      key,
      signal: this.#end.signal,
    });
    await this.#keep(attempt, redeemed);
    await stores.pendingKeys.drop(`token-${name}`);
    attempt.facts = { redeemed: true };
    log.info({ token: name, site: redeemed.offer.siteName }, 'token redeemed');
  }

  /** The bundle first, then the Link that needs it, then the record that the token is used: a crash between them costs another try with the same key. */
  async #keep({ name, mark }: Attempt, { offer, linkCost, bundle }: Redeemed): Promise<void> {
    const { stores } = this.#options;
    await stores.bundles.put({ ...bundle, name });
    const link: Link = {
      apiVersion: API_VERSION,
      kind: 'Link',
      metadata: { name, annotations: { 'earshot/site-id': offer.siteId, 'earshot/site-name': offer.siteName } },
      spec: { endpoints: offer.endpoints, cost: linkCost, tlsCredentials: name },
    };
    await stores.tokens.putLink(link);
    this.#redeemed?.set(name, mark);
    await stores.tokens.setRedeemed(this.#redeemed ?? new Map());
  }

  /** @returns whether it is worth a word */
  #failed(attempt: Attempt, token: Token, error: unknown): 'quiet' | 'told' {
    // Taken away meanwhile.
    if (this.#attempts.get(attempt.name) !== attempt) return 'quiet';
    const code = error instanceof TrustError || error instanceof CertificateError ? error.code : undefined;
    const asked = error instanceof ServerBusyError ? error.asked : 0;
    attempt.failures += 1;
    const { failures, since } = attempt;
    const retry = retryOf({ code, failures, since: performance.now() - since, asked }, Math.random());
    if (retry !== undefined) {
      const again = (): void => this.#start(attempt, token);
      attempt.timer = setTimeout(bounded('pass/redemption-again', again, again), retry.after);
      attempt.timer.unref();
      if (retry.isQuiet) return 'quiet';
    }
    const problem = problemOf(error);
    const retrying = retry !== undefined;
    attempt.facts = { redeemed: false, problem, retrying };
    this.#options.log.warn({ token: attempt.name, code: problem.code, retrying }, `token not redeemed: ${problem.message}`);
    return 'told';
  }
}

/** Tells one token from another of its name, without keeping the code. */
function markOf({ spec }: AccessToken): string {
  return createHash('sha256')
    .update(JSON.stringify([spec.url, spec.code]))
    .digest('hex');
}
