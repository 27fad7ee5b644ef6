import { quoted } from './printable.ts';

/** Formats `a.b["odd key"]` for a field of `parent` (`''` for the whole). Safe in a message, whatever the key contains. */
export function fieldPath(parent: string, key: string): string {
  if (!/^[A-Za-z_][\w-]{0,62}$/.test(key)) return `${parent}[${quoted(key)}]`;
  return parent === '' ? key : `${parent}.${key}`;
}
