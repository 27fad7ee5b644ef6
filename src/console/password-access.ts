/** Access by user and password (RFC 7617). All users see what the console reads. */
import { createHash } from 'node:crypto';
import { RateLimiter } from '../limits/rate-limiter.ts';
import { limitTable } from '../limits/table.ts';
import type { UserAccess } from './access.ts';
import type { PasswordFile } from './password-file.ts';
import { allPermissions, type Permissions } from './permissions.ts';

export class PasswordAccess implements UserAccess {
  readonly challenge = 'Basic realm="Earshot", charset="UTF-8"';
  readonly signedOut = {
    message: 'the request has no valid user and password',
    do: 'Reload the page and enter a user and password of the Secret that the console uses.',
  };
  /** A browser sends the password only to the address at which its user entered it, so a page of another name never has it. */
  readonly acceptsAnyHost = true;
  #file: PasswordFile;
  /** Hashes of valid credentials: requests with invalid ones cannot sign out their users. */
  readonly #admitted = new Set<string>();
  readonly #attempts = new RateLimiter(limitTable.consoleReviews.value);

  constructor(file: PasswordFile) {
    this.#file = file;
  }

  /** Signs out users whose password changed. */
  replaceFile(file: PasswordFile): void {
    if (file.text === this.#file.text) return;
    this.#file = file;
    this.#admitted.clear();
  }

  async admit(authorization: string | undefined, now: number): Promise<Permissions | 'busy' | undefined> {
    const [, encoded] = /^Basic ([A-Za-z0-9+/]{1,2048}={0,2})$/i.exec(authorization ?? '') ?? [];
    if (encoded === undefined) return undefined;
    const hash = createHash('sha256').update(encoded).digest('hex');
    if (this.#admitted.has(hash)) return allPermissions;
    if (!this.#attempts.take(now)) return 'busy';
    const credentials = Buffer.from(encoded, 'base64').toString();
    const colon = credentials.indexOf(':');
    if (colon < 0 || this.#file.users.get(credentials.slice(0, colon))?.(credentials.slice(colon + 1)) !== true) return undefined;
    if (this.#admitted.size < limitTable.consoleTokens.value) this.#admitted.add(hash);
    return allPermissions;
  }
}
