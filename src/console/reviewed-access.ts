/** Access for users of a cluster: their tokens and rights are reviewed by the API server, and the answers cached for a short time. */
import { createHash } from 'node:crypto';
import { limitTable } from '../limits/table.ts';
import type { AccessRequest, UserAccess } from './access.ts';
import { AttemptLimiter } from './attempt-limiter.ts';
import type { Admission, Permissions } from './permissions.ts';
import type { ReviewedUser } from './reviewed-user.ts';

/** Asks the API server. Both reject if it does not answer. */
export interface Reviewer {
  /** @returns undefined if the token is not valid */
  authenticate(token: string): Promise<ReviewedUser | undefined>;
  permissionsOf(user: ReviewedUser): Promise<Permissions>;
}

/** Milliseconds for which an answer is cached. A stream, which is checked in between, ends within a minute (ADR 40). */
const KEPT = 30_000;

interface Entry {
  readonly at: number;
  readonly answer: Promise<Admission | undefined>;
  /** Whether the last answer was that the token is valid. */
  wasValid: boolean;
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
  readonly #attempts = new AttemptLimiter();

  constructor(reviewer: Reviewer) {
    this.#reviewer = reviewer;
  }

  async admit({ authorization, address, now }: AccessRequest): Promise<Admission | 'busy' | undefined> {
    const [, token] = /^Bearer ([\w.~+/=-]{1,16384})$/i.exec(authorization ?? '') ?? [];
    if (token === undefined) return undefined;
    const hash = hashOf(token);
    const known = this.#entries.get(hash);
    // Clients that invent tokens must not sign out the user of a valid one.
    if (!isFresh(known, now) && known?.wasValid !== true && !this.#attempts.take(address, now)) return 'busy';
    return this.#answer(hash, now, () => this.#review(token));
  }

  async admitUser(user: ReviewedUser, now: number): Promise<Admission | undefined> {
    return this.#answer(hashOf(JSON.stringify(user)), now, () => this.#admissionOf(user));
  }

  /** @param ask asks the API server, if the cache has no answer */
  async #answer(hash: string, now: number, ask: () => Promise<Admission | undefined>): Promise<Admission | undefined> {
    const known = this.#entries.get(hash);
    const entry = known !== undefined && isFresh(known, now) ? known : { at: now, answer: ask(), wasValid: known?.wasValid === true };
    this.#keep(hash, entry);
    try {
      const admission = await entry.answer;
      entry.wasValid = admission !== undefined;
      return admission;
    } catch (error) {
      // An answer that failed to come is asked for again.
      this.#entries.delete(hash);
      throw error;
    }
  }

  async #review(token: string): Promise<Admission | undefined> {
    const user = await this.#reviewer.authenticate(token);
    return user === undefined ? undefined : this.#admissionOf(user);
  }

  async #admissionOf(user: ReviewedUser): Promise<Admission> {
    return { user: user.username, permissions: await this.#reviewer.permissionsOf(user) };
  }

  #keep(hash: string, entry: Entry): void {
    this.#entries.delete(hash);
    this.#entries.set(hash, entry);
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > limitTable.consoleTokens.value && oldest !== undefined) this.#entries.delete(oldest);
  }
}

const isFresh = (entry: Entry | undefined, now: number): boolean => entry !== undefined && now - entry.at < KEPT;

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');
