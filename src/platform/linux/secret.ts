/** Parses a Kubernetes Secret from a file: a TLS bundle, as with a link for another site, or the proxy of a link. */
import type { ProxyConfig, TlsBundle } from '../../router/contract.ts';
import { PROXY_SECRET, proxyIn } from '../../site/proxy.ts';
import { BUNDLE_FILES } from '../../trust/disk/bundle-files.ts';
import { isRecord } from '../../text/is-record.ts';
import { isResourceName } from '../../text/names.ts';

export function isSecret(value: unknown): value is Record<string, unknown> {
  return isRecord(value) && value['apiVersion'] === 'v1' && value['kind'] === 'Secret';
}

export interface NamedProxy {
  readonly name: string;
  readonly proxy: ProxyConfig;
}

interface Wrong {
  readonly field: string;
  readonly message: string;
}

export function readSecret(value: Record<string, unknown>): { readonly bundle: TlsBundle } | { readonly proxy: NamedProxy } | Wrong {
  const metadata = own(value, 'metadata');
  const name = isRecord(metadata) ? own(metadata, 'name') : undefined;
  if (typeof name !== 'string' || !isResourceName(name)) {
    return { field: 'metadata.name', message: 'must be lower-case letters, digits, hyphens and dots' };
  }
  const data = own(value, 'data') ?? {};
  const plain = own(value, 'stringData') ?? {};
  if (!isRecord(data)) return { field: 'data', message: 'must be a map of text' };
  if (!isRecord(plain)) return { field: 'stringData', message: 'must be a map of text' };
  const keys = own(value, 'type') === PROXY_SECRET ? PROXY_KEYS : BUNDLE_FILES;
  const texts: Record<string, string> = {};
  for (const [part, key] of Object.entries(keys)) {
    const clear = own(plain, key);
    const encoded = own(data, key);
    if (typeof clear === 'string') texts[part] = clear;
    else if (typeof encoded === 'string') {
      if (!/^[A-Za-z0-9+/]*={0,2}$/.test(encoded.replaceAll(/\s+/g, ''))) return { field: `data["${key}"]`, message: 'is not base64' };
      texts[part] = Buffer.from(encoded, 'base64').toString('utf8');
    }
  }
  if (keys === PROXY_KEYS) {
    const proxy = proxyIn((key) => texts[key]);
    return proxy === undefined
      ? { field: 'data', message: 'needs host and port of a proxy: Secrets of this type have no other use here' }
      : { proxy: { name, proxy } };
  }
  if (Object.keys(texts).length === 0)
    return { field: 'data', message: `needs one of ${Object.values(BUNDLE_FILES).join(', ')}: Secrets have no other use here` };
  return { bundle: { name, ...texts } };
}

const PROXY_KEYS = { host: 'host', port: 'port', username: 'username', password: 'password' } as const;

/** Ignores inherited properties. */
function own(map: Record<string, unknown>, key: string): unknown {
  return Object.hasOwn(map, key) ? map[key] : undefined;
}
