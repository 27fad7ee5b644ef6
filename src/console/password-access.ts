/** Access by user and password (RFC 7617). All users see what the console reads. */
import { createHash } from 'node:crypto';
import { limitTable } from '../limits/table.ts';
import type { AccessRequest, UserAccess } from './access.ts';
import { AttemptLimiter } from './attempt-limiter.ts';
import type { PasswordFile } from '../text/password-file.ts';
import { allPermissions, type Admission } from './permissions.ts';

export class PasswordAccess implements UserAccess {
  readonly challenge = 'Basic realm="Earshot", charset="UTF-8"';
  readonly signedOut = {
    message: 'the request has no valid user and password',
    do: 'Reload the page and enter a user and password of the Secret that the console uses.',
  };
  /** A browser sends the password only to the address at which its user entered it, so a page of another name never has it. */
  readonly acceptsAnyHost = true;
  #file: PasswordFile;
  /** Users by the hash of their credentials: clients with invalid ones cannot sign them out. Undefined until the file is asked again. */
  readonly #admitted = new Map<string, string | undefined>();
  readonly #attempts = new AttemptLimiter();

  constructor(file: PasswordFile) {
    this.#file = file;
  }

  /** Signs out users whose password changed. */
  replaceFile(file: PasswordFile): void {
    if (file.text === this.#file.text) return;
    this.#file = file;
    for (const hash of this.#admitted.keys()) this.#admitted.set(hash, undefined);
  }

  async admit({ authorization, address, now }: AccessRequest): Promise<Admission | 'busy' | undefined> {
    const [, encoded] = /^Basic ([A-Za-z0-9+/]{1,2048}={0,2})$/i.exec(authorization ?? '') ?? [];
    if (encoded === undefined) return undefined;
    const credentials = Buffer.from(encoded, 'base64').toString();
    // Base64 has many forms of one text. A user must not take the cache with them.
    const hash = createHash('sha256').update(credentials).digest('hex');
    const isKnown = this.#admitted.has(hash);
    const user = this.#admitted.get(hash);
    if (user !== undefined) return { user, permissions: allPermissions };
    if (!isKnown && !this.#attempts.take(address, now)) return 'busy';
    const found = this.#userOf(credentials);
    if (found === undefined) {
      this.#admitted.delete(hash);
      return undefined;
    }
    if (isKnown || this.#admitted.size < limitTable.consoleTokens.value) this.#admitted.set(hash, found);
    return { user: found, permissions: allPermissions };
  }

  /** @returns undefined if the credentials are not valid */
  #userOf(credentials: string): string | undefined {
    const colon = credentials.indexOf(':');
    if (colon < 0) return undefined;
    const user = credentials.slice(0, colon);
    return this.#file.users.get(user)?.(credentials.slice(colon + 1)) === true ? user : undefined;
  }
}
