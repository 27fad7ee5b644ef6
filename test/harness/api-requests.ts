import { Agent, request, type Dispatcher } from 'undici';
import { HarnessError } from './failures.ts';

/** Plain JSON calls to the cluster's API server. The harness's own, so that a fault in the client under test cannot hide itself. */
export interface ApiRequests {
  get<T = JsonObject>(path: string): Promise<T>;
  /** undefined where the API server answers 404. */
  find<T = JsonObject>(path: string): Promise<T | undefined>;
  create<T = JsonObject>(path: string, body: object): Promise<T>;
  /** JSON merge patch (RFC 7386) unless another content type is named. */
  patch<T = JsonObject>(path: string, body: object, contentType?: string): Promise<T>;
  put<T = JsonObject>(path: string, body: object): Promise<T>;
  remove(path: string): Promise<void>;
  /** True where /readyz says ok. */
  ready(): Promise<boolean>;
  close(): Promise<void>;
}

export type JsonObject = { readonly [key: string]: unknown };

export function connect(options: { url: string; ca: string; token: string }): ApiRequests {
  const agent = new Agent({ connect: { ca: options.ca }, connections: 8, headersTimeout: 30_000, bodyTimeout: 30_000 });

  async function call(
    method: Dispatcher.HttpMethod,
    path: string,
    body?: object,
    contentType = 'application/json',
  ): Promise<{ status: number; text: string }> {
    const response = await request(`${options.url}${path}`, {
      method,
      dispatcher: agent,
      headers: {
        authorization: `Bearer ${options.token}`,
        accept: 'application/json',
        'user-agent': 'harness',
        ...(body ? { 'content-type': contentType } : {}),
      },
      body: body === undefined ? null : JSON.stringify(body),
    });
    return { status: response.statusCode, text: await response.body.text() };
  }

  async function send<T>(method: Dispatcher.HttpMethod, path: string, body?: object, contentType?: string): Promise<T> {
    const { status, text } = await call(method, path, body, contentType);
    if (status >= 300) throw new HarnessError('API_REFUSED', `${method} ${path}: ${status} ${messageOf(text)}`);
    // The caller names the shape that this path answers with.
    return JSON.parse(text) as T;
  }

  return {
    get: (path) => send('GET', path),
    async find<T>(path: string) {
      const { status, text } = await call('GET', path);
      if (status === 404) return undefined;
      if (status >= 300) throw new HarnessError('API_REFUSED', `GET ${path}: ${status} ${messageOf(text)}`);
      return JSON.parse(text) as T;
    },
    create: (path, body) => send('POST', path, body),
    patch: (path, body, contentType = 'application/merge-patch+json') => send('PATCH', path, body, contentType),
    put: (path, body) => send('PUT', path, body),
    async remove(path) {
      const { status, text } = await call('DELETE', path);
      if (status >= 300 && status !== 404) throw new HarnessError('API_REFUSED', `DELETE ${path}: ${status} ${messageOf(text)}`);
    },
    ready: () =>
      call('GET', '/readyz').then(
        ({ status }) => status === 200,
        () => false,
      ),
    close: () => agent.destroy(),
  };
}

function messageOf(text: string): string {
  try {
    const { message } = JSON.parse(text) as { message?: string };
    return message ?? text.slice(0, 300);
  } catch {
    return text.slice(0, 300);
  }
}
