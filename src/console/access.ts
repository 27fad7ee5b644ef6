/** Who may use the console: one-time tokens, what they are exchanged for, and the names by which it may be addressed */
import { createHash, randomBytes } from 'node:crypto';
import { limitTable } from '../limits/table.ts';
import { allPermissions, type Admission } from './permissions.ts';
import type { ReviewedUser } from './reviewed-user.ts';

/** Facts that decide whether a request is admitted. */
export interface AccessRequest {
  readonly authorization: string | undefined;
  /** Address of the client. */
  readonly address: string;
  /** Milliseconds. */
  readonly now: number;
}

/** Access for several users, instead of one-time links. */
export interface UserAccess {
  /**
   * @returns undefined if the credentials are not valid; `busy` if too many unknown ones came
   * @throws Error if the API server does not answer
   */
  admit(request: AccessRequest): Promise<Admission | 'busy' | undefined>;
  /** Admits a user that a proxy has authenticated. Absent if users need credentials of their own. @throws as `admit` */
  admitUser?(user: ReviewedUser, now: number): Promise<Admission | undefined>;
  /** Value of `www-authenticate`, by which the page knows how to sign in. */
  readonly challenge: string;
  /** Cause and remedy of a request that is not admitted. */
  readonly signedOut: { readonly message: string; readonly do: string };
  /** Whether requests may name any host. */
  readonly acceptsAnyHost: boolean;
}

/** Milliseconds for which a link can be used. */
const TOKEN_VALID = 5 * 60_000;
/** Milliseconds without a request after which the page has to be opened with a new link. */
const IDLE = 12 * 3_600_000;

/** Tokens and bearers are kept as hashes, so that comparing them takes no time that depends on a secret. */
export class PageAccess {
  readonly #tokens = new Map<string, number>();
  /** Time of the last request, least recent first. */
  readonly #bearers = new Map<string, number>();

  /** @returns a token of 128 bits that one page can exchange within five minutes */
  createToken(now: number): string {
    const token = randomBytes(16).toString('base64url');
    for (const [hash, until] of this.#tokens) if (until <= now) this.#tokens.delete(hash);
    this.#tokens.set(hashOf(token), now + TOKEN_VALID);
    return token;
  }

  /** @returns a bearer, or undefined if the token is unknown, was used, or has expired */
  exchange(token: string, now: number): string | undefined {
    const hash = hashOf(token);
    const until = this.#tokens.get(hash);
    this.#tokens.delete(hash);
    if (until === undefined || until <= now) return undefined;
    const bearer = randomBytes(32).toString('base64url');
    this.#use(hashOf(bearer), now);
    return bearer;
  }

  /** A valid bearer's idle time begins again. @returns undefined if the bearer is not valid */
  admit({ authorization, now }: AccessRequest): Admission | undefined {
    const [, bearer] = /^Bearer ([\w-]{1,128})$/i.exec(authorization ?? '') ?? [];
    if (bearer === undefined) return undefined;
    const hash = hashOf(bearer);
    const used = this.#bearers.get(hash);
    if (used === undefined) return undefined;
    if (now - used > IDLE) {
      this.#bearers.delete(hash);
      return undefined;
    }
    this.#use(hash, now);
    return { user: hash, permissions: allPermissions };
  }

  #use(hash: string, now: number): void {
    this.#bearers.delete(hash);
    this.#bearers.set(hash, now);
    const [oldest] = this.#bearers.keys();
    if (this.#bearers.size > limitTable.consolePages.value && oldest !== undefined) this.#bearers.delete(oldest);
  }
}

const hashOf = (secret: string): string => createHash('sha256').update(secret).digest('hex');

const LOOPBACK_NAMES: readonly string[] = ['127.0.0.1', '[::1]', 'localhost'];

/** Addresses of the console. A page of another name, which an attacker may point at this machine (DNS rebinding), is refused. */
export class ConsoleAddresses {
  readonly #hosts: ReadonlySet<string>;
  /** Hosts of public URLs without one of `http:`. */
  readonly #secureHosts: ReadonlySet<string>;
  readonly #isAnyPort: boolean;
  readonly #isAnyHost: boolean;
  /** Paths of public URLs, each without its last slash. The longest is first. */
  readonly #paths: readonly string[];

  /** @param port that of the loopback addresses; any if undefined */
  constructor(port: number | undefined, publicUrls: readonly URL[], isAnyHost = false) {
    const local = LOOPBACK_NAMES.map((name) => (port === 80 ? name : `${name}:${port}`));
    this.#isAnyPort = port === undefined;
    this.#isAnyHost = isAnyHost;
    this.#hosts = new Set([...(port === undefined ? [] : local), ...publicUrls.map(({ host }) => host)]);
    const plain = new Set(publicUrls.flatMap(({ host, protocol }) => (protocol === 'http:' ? [host] : [])));
    this.#secureHosts = new Set(publicUrls.flatMap(({ host }) => (plain.has(host) ? [] : [host])));
    const paths = publicUrls.map(({ pathname }) => pathname.replace(/\/+$/, ''));
    this.#paths = paths.filter((path) => path !== '').toSorted((one, other) => other.length - one.length);
  }

  has(host: string | undefined): boolean {
    if (host === undefined) return false;
    if (this.#isAnyHost) return true;
    const lower = host.toLowerCase();
    return this.#hosts.has(lower) || (this.#isAnyPort && LOOPBACK_NAMES.includes(lower.replace(/:\d{1,5}$/, '')));
  }

  /**
   * Whether a request to that host comes from a page of the console itself, or from a program that is not a page. Anyone between the browser
   * and the console can write a page of `http:`, so it is not one of a console of `https:`.
   * @param isSecure whether the browser's request came by `https:`
   */
  hasOrigin(origin: string | undefined, { host, isSecure }: { readonly host: string | undefined; readonly isSecure: boolean }): boolean {
    if (origin === undefined) return true;
    const page = URL.parse(origin);
    if (page === null || !/^https?:$/.test(page.protocol)) return false;
    if (page.protocol === 'http:' && (isSecure || this.#secureHosts.has(page.host))) return false;
    return this.#isAnyHost ? this.#hosts.has(page.host) || page.host === host?.toLowerCase() : this.has(page.host);
  }

  /** Path without that of a public URL, which a proxy may leave or remove. */
  localPath(path: string): string {
    const prefix = this.#paths.find((each) => path === each || path.startsWith(`${each}/`));
    return prefix === undefined ? path : path.slice(prefix.length) || '/';
  }
}
