import { request } from 'node:https';
import type { IncomingHttpHeaders } from 'node:http';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readonly<Record<string, unknown>>;
}

/** One request, whatever is in it, to a URL whose server's certificate comes from `ca`. */
export function post(
  url: string,
  ca: string,
  body: string | Uint8Array,
  options: { readonly method?: string; readonly headers?: Record<string, string> } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: options.method ?? 'POST', ca, agent: false, headers: { ...options.headers } }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        // Answers of the grant server are objects; one that is not fails here.
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: JSON.parse(text) as Answer['body'] });
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}
