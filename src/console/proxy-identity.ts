/** The user that a proxy names in headers, as the API server of Kubernetes takes it from its own proxies (pure). */
import type { ReviewedUser } from './reviewed-user.ts';

/** Each header with all of its values, as in `IncomingMessage.headersDistinct`. */
type Headers = Readonly<Record<string, readonly string[] | undefined>>;

const USER = 'x-remote-user';
const GROUP = 'x-remote-group';
/** The API server gives this group to each user that it authenticates. */
const EVERYONE = 'system:authenticated';
/** Names of the cluster's own accounts and groups. A group of that name in a company's directory must not be one of them. */
const RESERVED = 'system:';
const MOST_CHARACTERS = 256;
const MOST_GROUPS = 256;

/**
 * @param isProxy whether the connection shows a certificate of the proxies' authority
 * @returns undefined if no header names a user; `refused` if headers must not be trusted, or are invalid
 */
export function proxyIdentityOf(headers: Headers, isProxy: boolean): ReviewedUser | 'refused' | undefined {
  const [users, groups] = [headers[USER] ?? [], headers[GROUP] ?? []];
  if (users.length + groups.length === 0) return undefined;
  const [username = ''] = users;
  const isValid = users.length === 1 && isName(username) && !username.startsWith(RESERVED);
  if (!isProxy || !isValid || groups.length > MOST_GROUPS || !groups.every(isName)) return 'refused';
  return { username, groups: [...groups.filter((group) => !group.startsWith(RESERVED)), EVERYONE] };
}

const isName = (text: string): boolean => text !== '' && text.length <= MOST_CHARACTERS;
