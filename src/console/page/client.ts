/** Requests to the console's API. The bearer is in sessionStorage: cookies would be shared by all ports of this host. */
import type { Explanation } from '../../explain/step.ts';
import type { ErrorView } from '../contract.ts';

const BEARER = 'earshot-bearer';
/** Milliseconds until a request counts as failed. */
const PATIENCE = 10_000;
/** A probe may wait ten seconds for an answer, and other sources besides. */
const PROBE_PATIENCE = 20_000;
/** The request lasts while a user types a password. */
const TYPING = 600_000;
/** The server sends a comment each 15 s. */
const SILENCE = 40_000;

/** A token of the cluster is pasted. The browser itself asks for a password. */
export type SignsInBy = 'link' | 'token' | 'password';

export class RequestError extends Error {
  readonly status: number;
  readonly view: ErrorView;
  readonly signsInBy: SignsInBy;

  constructor(status: number, view: ErrorView, signsInBy: SignsInBy) {
    super(view.message);
    this.status = status;
    this.view = view;
    this.signsInBy = signsInBy;
  }
}

const base = new URL('.', location.href.split('#', 1)[0]);

/** Exchanges the token of the link, and removes it from the address. @returns whether the page has a bearer */
export async function signIn(): Promise<boolean> {
  const [, token] = /^#t=([\w-]+)$/.exec(location.hash) ?? [];
  if (token === undefined) return sessionStorage.getItem(BEARER) !== null;
  history.replaceState(null, '', '#/');
  const body = await send('session', { method: 'POST', body: JSON.stringify({ token }), headers: {} });
  // The server answers with this type.
  sessionStorage.setItem(BEARER, (body as { readonly bearer: string }).bearer);
  return true;
}

/** Sends a request without a bearer. If the console has users with passwords, the browser asks for one. @throws as `get` */
export async function requestWithPassword(): Promise<void> {
  await send('overview', { headers: {} }, TYPING);
}

/** Signs in with a token of the cluster, which the server reviews at each request. */
export function useToken(token: string): void {
  sessionStorage.setItem(BEARER, token);
}

/** @throws RequestError, or TypeError if the console does not answer */
export async function get<T>(path: string): Promise<T> {
  // The server answers with the types of contract.ts.
  return (await send(path, { headers: authorization() })) as T;
}

/** The only action of the page. @throws RequestError */
export async function probe(kind: string, name: string): Promise<Explanation> {
  const body = JSON.stringify({ kind, name });
  // The server answers with this type.
  return (await send('probe', { method: 'POST', body, headers: authorization() }, PROBE_PATIENCE)) as Explanation;
}

async function send(path: string, init: RequestInit, patience = PATIENCE): Promise<unknown> {
  const response = await fetch(new URL(`api/v1/${path}`, base), { ...init, signal: AbortSignal.timeout(patience) });
  if (!response.ok) throw await errorOf(response);
  return response.json();
}

async function errorOf(response: Response): Promise<RequestError> {
  if (response.status === 401) sessionStorage.removeItem(BEARER);
  const fallback = { code: 'failed', message: `the console answered with status ${response.status}`, do: '' };
  const view = await response
    .json()
    .then((body) => body as ErrorView)
    .catch(() => fallback);
  const challenge = response.headers.get('www-authenticate') ?? '';
  const signsInBy = challenge.startsWith('Basic') ? 'password' : challenge.includes('realm="kubernetes"') ? 'token' : 'link';
  return new RequestError(response.status, view, signsInBy);
}

function authorization(): Record<string, string> {
  const bearer = sessionStorage.getItem(BEARER);
  // Without this header, the browser adds the password that its user entered.
  return bearer === null ? {} : { authorization: `Bearer ${bearer}` };
}

export interface StreamEvent {
  readonly id: string;
  readonly event: string;
  readonly data: string;
}

/**
 * Reads the stream until it ends.
 * @param heard called for everything that arrives, comments included
 */
export async function readStream(lastId: string | undefined, onEvent: (event: StreamEvent) => void, heard: () => void): Promise<void> {
  const stop = new AbortController();
  let timer = setTimeout(() => stop.abort(), SILENCE);
  const headers = { ...authorization(), ...(lastId === undefined ? {} : { 'last-event-id': lastId }) };
  const response = await fetch(new URL('api/v1/stream', base), { headers, signal: stop.signal });
  if (!response.ok) throw await errorOf(response);
  heard();
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const part = await reader?.read();
    if (part === undefined || part.done) break;
    clearTimeout(timer);
    timer = setTimeout(() => stop.abort(), SILENCE);
    heard();
    const blocks = (rest + part.value).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const event = eventOf(block);
      if (event !== undefined) onEvent(event);
    }
  }
  clearTimeout(timer);
}

function eventOf(block: string): StreamEvent | undefined {
  const fields = new Map(block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]));
  const [event, data] = [fields.get('event'), fields.get('data')];
  return event === undefined || data === undefined ? undefined : { id: fields.get('id') ?? '', event, data };
}
