import type { Sent } from './exchange.ts';

export interface ApiRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly plural: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
  readonly isWatch: boolean;
  readonly body: Buffer | null;
}

export function requestOf({ method, path, body }: Sent): ApiRequest {
  const [before = '', after = ''] = path.split('?');
  const segments = before.split('/').slice(1).map(decodeURIComponent);
  // /api/VERSION/… or /apis/GROUP/VERSION/…
  let rest = segments.slice(segments[0] === 'api' ? 2 : 3);
  let namespace: string | undefined;
  if (rest[0] === 'namespaces' && rest.length > 2) {
    namespace = rest[1];
    rest = rest.slice(2);
  }
  const [plural = '', name, subresource] = rest;
  const query = new URLSearchParams(after);
  return { method, path: before, query, plural, namespace, name, subresource, isWatch: query.get('watch') === 'true', body };
}
