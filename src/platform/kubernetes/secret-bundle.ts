/** Converts Secrets to bundles and proxies (pure). */
import { annotation } from '../../api/skupper/cluster-names.ts';
import type { TlsBundle } from '../../identity/tls-bundle.ts';
import type { Problem } from '../../errors/problem.ts';
import type { Secret } from '../../kube/objects.ts';
import { quoted } from '../../text/printable.ts';
import type { ProxyConfig } from '../../router/contract.ts';
import { priorRevisionsIn } from '../../site/plan/prior-revisions.ts';
import { PROXY_SECRET, proxyIn } from '../../site/proxy.ts';

const PARTS = { cert: 'tls.crt', key: 'tls.key', ca: 'ca.crt' } as const;

/** Returns the bundle with the parts that exist, or the reason why the Secret is not a TLS bundle. */
export function bundleOf(secret: Secret): TlsBundle | Problem {
  const { metadata, type = 'Opaque' } = secret;
  const name = metadata.name ?? '';
  const ca = textIn(secret, PARTS.ca);
  if (type !== 'kubernetes.io/tls' && (type !== 'Opaque' || ca === undefined)) {
    const what = type === 'Opaque' ? 'is Opaque and has no ca.crt' : `has the type ${quoted(type)}`;
    const message = `the Secret ${quoted(name)} ${what}; use the type kubernetes.io/tls, or Opaque with ca.crt.`;
    return { code: 'tls-unreadable', message };
  }
  const [cert, key] = [textIn(secret, PARTS.cert), textIn(secret, PARTS.key)];
  const priorRevisions = priorRevisionsIn(metadata.annotations?.[annotation.priorRevisions]);
  return {
    name,
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(ca === undefined ? {} : { ca }),
    ...(priorRevisions === undefined ? {} : { priorRevisions }),
  };
}

export function isProblem(found: object): found is Problem {
  return 'code' in found;
}

/** Returns the `data` of a Secret with the bundle. */
export function dataOf(bundle: TlsBundle): Readonly<Record<string, string>> {
  const parts = Object.entries(PARTS).map(([part, key]) => [key, bundle[part as keyof typeof PARTS]] as const);
  return Object.fromEntries(parts.flatMap(([key, text]) => (text === undefined ? [] : [[key, Buffer.from(text).toString('base64')]])));
}

/** Undefined if the Secret contains no proxy. */
export function proxyOf(secret: Secret): ProxyConfig | undefined {
  return secret.type === PROXY_SECRET ? proxyIn((key) => textIn(secret, key)) : undefined;
}

/** Empty counts as missing, since a Secret of type kubernetes.io/tls must have both keys. */
export function textIn({ data }: Secret, key: string): string | undefined {
  const encoded = data !== undefined && Object.hasOwn(data, key) ? data[key] : undefined;
  const text = Buffer.from(encoded ?? '', 'base64').toString('utf8');
  return text.trim() === '' ? undefined : text;
}
