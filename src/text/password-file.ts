/** Users of an htpasswd file, as nginx reads it: `USER:{SCHEME}VALUE` in each line (pure). */
import { createHash, timingSafeEqual } from 'node:crypto';

/** Whether a password is the user's. */
export type PasswordCheck = (password: string) => boolean;

export interface PasswordFile {
  readonly text: string;
  readonly users: ReadonlyMap<string, PasswordCheck>;
  /** Number of lines whose scheme is not supported, such as bcrypt. */
  readonly unsupported: number;
}

/** The first line of a user counts. */
export function parsePasswordFile(text: string): PasswordFile {
  const users = new Map<string, PasswordCheck>();
  let unsupported = 0;
  for (const line of text.split(/\r?\n/)) {
    if (line.trim() === '' || line.startsWith('#')) continue;
    const colon = line.indexOf(':');
    const check = colon < 1 ? undefined : checkOf(line.slice(colon + 1));
    if (check === undefined) unsupported += 1;
    else users.getOrInsert(line.slice(0, colon), check);
  }
  return { text, users, unsupported };
}

function checkOf(entry: string): PasswordCheck | undefined {
  const [, scheme = '', value = ''] = /^\{(PLAIN|SHA|SSHA)\}(.+)$/.exec(entry) ?? [];
  // Digests have the same length, so the comparison takes a time that does not depend on the password.
  if (scheme === 'PLAIN') return (password) => timingSafeEqual(digest('sha256', password), digest('sha256', value));
  const bytes = Buffer.from(value, 'base64');
  const [stored, salt] = [bytes.subarray(0, SHA1_BYTES), bytes.subarray(SHA1_BYTES)];
  if (stored.length < SHA1_BYTES || (scheme === 'SHA' && salt.length > 0)) return undefined;
  return (password) => timingSafeEqual(digest('sha1', password, salt), stored);
}

const SHA1_BYTES = 20;

function digest(algorithm: 'sha1' | 'sha256', password: string, salt = Buffer.alloc(0)): Buffer {
  return createHash(algorithm).update(password).update(salt).digest();
}
