/** A Kubernetes Secret in a file, as far as it is a TLS bundle: a link for another site comes with one. */
import type { TlsBundle } from '../../router/contract.ts';
import { BUNDLE_FILES } from '../../trust/disk/bundle-files.ts';
import { isRecord } from '../../text/is-record.ts';
import { isResourceName } from '../../text/names.ts';

export function isSecret(value: unknown): value is Record<string, unknown> {
  return isRecord(value) && value['apiVersion'] === 'v1' && value['kind'] === 'Secret';
}

export function readSecret(
  value: Record<string, unknown>,
): { readonly bundle: TlsBundle } | { readonly field: string; readonly message: string } {
  const metadata = own(value, 'metadata');
  const name = isRecord(metadata) ? own(metadata, 'name') : undefined;
  if (typeof name !== 'string' || !isResourceName(name)) {
    return { field: 'metadata.name', message: 'must be lower-case letters, digits, hyphens and dots' };
  }
  const data = own(value, 'data') ?? {};
  const plain = own(value, 'stringData') ?? {};
  if (!isRecord(data)) return { field: 'data', message: 'must be a map of text' };
  if (!isRecord(plain)) return { field: 'stringData', message: 'must be a map of text' };
  const texts: Record<string, string> = {};
  for (const [part, key] of Object.entries(BUNDLE_FILES)) {
    const clear = own(plain, key);
    const encoded = own(data, key);
    if (typeof clear === 'string') texts[part] = clear;
    else if (typeof encoded === 'string') {
      if (!/^[A-Za-z0-9+/\s]*={0,2}\s*$/.test(encoded)) return { field: `data["${key}"]`, message: 'is not base64' };
      texts[part] = Buffer.from(encoded, 'base64').toString('utf8');
    }
  }
  if (Object.keys(texts).length === 0)
    return { field: 'data', message: `has none of ${Object.values(BUNDLE_FILES).join(', ')}, which is all that a Secret is used for here` };
  return { bundle: { name, ...texts } };
}

/** Without what the object inherits. */
function own(map: Record<string, unknown>, key: string): unknown {
  return Object.hasOwn(map, key) ? map[key] : undefined;
}
