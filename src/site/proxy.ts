import { isHost } from '../text/names.ts';
import { isGiven, parsePort } from './plan/fields.ts';
import type { ProxyConfig } from '../router/contract.ts';

/** The type of a Secret in which a proxy is. */
export const PROXY_SECRET = 'kubernetes.io/basic-auth';

/** @param textIn what the Secret has under a key. @returns undefined where there is no proxy in it */
export function proxyIn(textIn: (key: string) => string | undefined): ProxyConfig | undefined {
  const host = textIn('host')?.trim();
  const port = parsePort(textIn('port')?.trim() ?? '');
  if (!isHost(host) || port === undefined) return undefined;
  const [username, password] = [textIn('username'), textIn('password')];
  return { host, port, ...(isGiven(username) ? { username } : {}), ...(isGiven(password) ? { password } : {}) };
}
