/** The address of a view: `#/services?q=web&sort=failed`. Everything that a view shows depends on it. */
import { signal } from '@preact/signals';

export interface Route {
  /** Decoded parts of the path: `['services', 'web']`. */
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

export const route = signal<Route>(parseHash(location.hash));

export function parseHash(hash: string): Route {
  // The token of the link is not a view.
  const [path = '', query = ''] = hash
    .replace(/^#t=.*/, '')
    .replace(/^#\/?/, '')
    .split('?', 2);
  const parts = path.split('/').filter((part) => part !== '');
  return { path: parts.map(decoded), query: new URLSearchParams(query) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function href(path: readonly string[], query: Readonly<Record<string, string>> = {}): string {
  const parameters = new URLSearchParams(query).toString();
  return `#/${path.map(encodeURIComponent).join('/')}${parameters === '' ? '' : `?${parameters}`}`;
}

/** Changes one parameter of the view. Typing in a filter adds no entries to the browser's history. */
export function setQuery(name: string, value: string): void {
  const { path, query } = route.value;
  const next = new URLSearchParams(query);
  if (value === '') next.delete(name);
  else next.set(name, value);
  history.replaceState(null, '', href(path, Object.fromEntries(next)));
  route.value = { path, query: next };
}

/** The view changes at once, because a key that is pressed next must act on it. */
export function goTo(target: string): void {
  location.hash = target;
  route.value = parseHash(target);
}

addEventListener('hashchange', () => {
  // A new link in the address bar of an open page loads nothing by itself.
  if (location.hash.startsWith('#t=')) location.reload();
  route.value = parseHash(location.hash);
});
