import { isHost } from '../text/names.ts';
import { isGiven, parsePort } from './plan/fields.ts';
import type { ProxyConfig } from '../router/contract.ts';

/** Type of a Secret that contains a proxy. */
export const PROXY_SECRET = 'kubernetes.io/basic-auth';

/**
 * @param textIn returns the value of a key of the Secret
 * @returns undefined if the Secret does not contain a proxy
 */
export function proxyIn(textIn: (key: string) => string | undefined): ProxyConfig | undefined {
  const host = textIn('host')?.trim();
  const port = parsePort(textIn('port')?.trim() ?? '');
  if (!isHost(host) || port === undefined) return undefined;
  const [username, password] = [textIn('username'), textIn('password')];
  return { host, port, ...(isGiven(username) ? { username } : {}), ...(isGiven(password) ? { password } : {}) };
}
