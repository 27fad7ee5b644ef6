/** Access for users of a cluster: their tokens and rights are reviewed by the API server, and the answers cached for a short time. */
import { createHash } from 'node:crypto';
import { RateLimiter } from '../limits/rate-limiter.ts';
import { limitTable } from '../limits/table.ts';
import type { UserAccess } from './access.ts';
import type { Permissions } from './permissions.ts';

/** A user as the API server knows it. */
export interface ReviewedUser {
  readonly username: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** Asks the API server. Both reject if it does not answer. */
export interface Reviewer {
  /** @returns undefined if the token is not valid */
  authenticate(token: string): Promise<ReviewedUser | undefined>;
  permissionsOf(user: ReviewedUser): Promise<Permissions>;
}

/** Milliseconds for which the user of a token is cached, and its permissions. */
const USER_KEPT = 60_000;
const PERMISSIONS_KEPT = 30_000;

interface Reviewed<T> {
  readonly at: number;
  readonly value: Promise<T>;
}

interface Entry {
  readonly user: Reviewed<ReviewedUser | undefined>;
  readonly permissions?: Reviewed<Permissions>;
}

/** Tokens are kept as hashes. Those used least recently are forgotten. */
export class ReviewedAccess implements UserAccess {
  readonly challenge = 'Bearer realm="kubernetes"';
  readonly signedOut = {
    message: 'the request has no valid token of the cluster',
    do: 'Paste a token of the cluster, such as that of `kubectl create token NAME`.',
  };
  readonly acceptsAnyHost = false;
  readonly #reviewer: Reviewer;
  readonly #entries = new Map<string, Entry>();
  readonly #reviews = new RateLimiter(limitTable.consoleReviews.value);

  constructor(reviewer: Reviewer) {
    this.#reviewer = reviewer;
  }

  async admit(authorization: string | undefined, now: number): Promise<Permissions | 'busy' | undefined> {
    const [, token] = /^Bearer ([\w.~+/=-]{1,16384})$/i.exec(authorization ?? '') ?? [];
    if (token === undefined) return undefined;
    const hash = createHash('sha256').update(token).digest('hex');
    const known = this.#entries.get(hash);
    const isKnown = known !== undefined && now - known.user.at < USER_KEPT;
    // Only a valid token has permissions. Clients that invent tokens must not sign out its user.
    if (!isKnown && known?.permissions === undefined && !this.#reviews.take(now)) return 'busy';
    const entry: Entry = isKnown ? known : { user: { at: now, value: this.#reviewer.authenticate(token) } };
    this.#keep(hash, entry);
    const user = await this.#orForget(hash, entry.user.value);
    return user === undefined ? undefined : this.#permissionsOf(hash, user, now);
  }

  #permissionsOf(hash: string, user: ReviewedUser, now: number): Promise<Permissions> {
    const entry = this.#entries.get(hash);
    const known = entry?.permissions;
    if (known !== undefined && now - known.at < PERMISSIONS_KEPT) return known.value;
    const value = this.#reviewer.permissionsOf(user);
    if (entry !== undefined) this.#keep(hash, { ...entry, permissions: { at: now, value } });
    return this.#orForget(hash, value);
  }

  /** An answer that failed to come is asked for again. */
  async #orForget<T>(hash: string, answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      this.#entries.delete(hash);
      throw error;
    }
  }

  #keep(hash: string, entry: Entry): void {
    this.#entries.delete(hash);
    this.#entries.set(hash, entry);
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > limitTable.consoleTokens.value && oldest !== undefined) this.#entries.delete(oldest);
  }
}
