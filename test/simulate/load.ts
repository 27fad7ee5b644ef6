/**
 * Loads code with its surroundings replaced: modules below `src` get others in place of `node:net`, `node:tls` and so on, and globals of the
 * simulation. Their code is what it is, but for numbers that are scaled, and for a fault that is put back in to see it found.
 */
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import { changed, type Change } from './change.ts';

export interface Replacements {
  /** Modules in the place of others: by what is imported, or by a file's path below `src`. */
  readonly standins: ReadonlyMap<string, URL>;
  /** Modules of Node.js that stay, since their used parts are the same everywhere. Imports of others fail. */
  readonly kept: ReadonlySet<string>;
  readonly changes: readonly Change[];
}

const SOURCE = new URL('../../src/', import.meta.url).href;
const GLOBALS = 'setTimeout, clearTimeout, setInterval, clearInterval, setImmediate, clearImmediate, Date, Math, performance'.split(', ');

/** Modules of Node.js in which nothing is but functions of what they are given. */
export const PURE: readonly string[] = ['buffer', 'events', 'path', 'stream', 'url', 'util'].map((name) => `node:${name}`);

/** To be called before anything of `src` is loaded. */
export function replaceSurroundings(replaced: Replacements): void {
  const changes = Map.groupBy(replaced.changes, ({ file }) => SOURCE + file);
  const standins = new Map([...replaced.standins].map(([name, { href }]) => [name.endsWith('.ts') ? SOURCE + name : name, href]));
  registerHooks({
    resolve: (specifier, context, next) => {
      if (context.parentURL?.startsWith(SOURCE) !== true) return next(specifier, context);
      const standin = standins.get(specifier.startsWith('.') ? new URL(specifier, context.parentURL).href : specifier);
      if (standin !== undefined) return { url: standin, shortCircuit: true, format: 'module-typescript' };
      if (specifier.startsWith('node:') && !replaced.kept.has(specifier))
        throw new Error(
          `${context.parentURL} imports ${specifier}, for which the simulator has nothing: a seed would not be the same run twice.`,
        );
      return next(specifier, context);
    },
    load: (url, context, next) => {
      if (!url.startsWith(SOURCE) || !url.endsWith('.ts')) return next(url, context);
      const text = readFileSync(fileURLToPath(url), 'utf8');
      return { format: 'module-typescript', shortCircuit: true, source: head(text) + changed(text, changes.get(url) ?? []) };
    },
  });
}

/** On the first line, so that all others keep their numbers. */
function head(text: string): string {
  // As a type it needs no stand-in.
  const names = text.includes('AbortSignal.timeout(') ? [...GLOBALS, 'AbortSignal'] : GLOBALS;
  const used = names.filter((name) => new RegExp(`\\b${name}\\b`).test(text) && !new RegExp(`import .*\\b${name}\\b`).test(text));
  return used.length === 0 ? '' : `import { ${used.join(', ')} } from '${new URL('./node/globals.ts', import.meta.url).href}'; `;
}
