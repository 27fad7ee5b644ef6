/** Files of the page, compressed and plain. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { answer, notAllowed } from './answers.ts';
import { failure } from './api.ts';
import type { PageAsset } from './assets.ts';

/** By path below the console. */
export type PageFiles = ReadonlyMap<string, PageAsset & { readonly plain: Buffer }>;

/** Unpacks each file once. */
export function readPageFiles(assets: readonly PageAsset[]): PageFiles {
  return new Map(assets.map((asset) => [asset.path, { ...asset, plain: gunzipSync(asset.gzip) }]));
}

export function serveFile(files: PageFiles, path: string, request: IncomingMessage, response: ServerResponse): void {
  request.resume();
  if (request.method !== 'GET' && request.method !== 'HEAD') return answer(response, notAllowed('GET, HEAD'));
  const file = files.get(path === '/' ? 'index.html' : path.slice(1));
  if (file === undefined) return answer(response, failure(404, 'not-found', 'this path does not exist', 'Open the page at /.'));
  // The name of every other file has a hash of its content.
  if (path !== '/') response.setHeader('cache-control', 'private, max-age=31536000, immutable');
  response.setHeader('content-type', file.type);
  response.setHeader('vary', 'accept-encoding');
  const compressed = /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''));
  if (compressed) response.setHeader('content-encoding', 'gzip');
  const content = compressed ? file.gzip : file.plain;
  response.setHeader('content-length', content.length);
  response.end(request.method === 'HEAD' ? undefined : content);
}
