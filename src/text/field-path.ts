import { quoted } from './printable.ts';

/** `a.b["odd key"]`, of a field within `parent` (`''` for the whole): safe in a message whatever the key holds. */
export function fieldPath(parent: string, key: string): string {
  if (!/^[A-Za-z_][\w-]{0,62}$/.test(key)) return `${parent}[${quoted(key)}]`;
  return parent === '' ? key : `${parent}.${key}`;
}
