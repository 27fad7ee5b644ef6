/**
 * Loads the router with its surroundings replaced: modules below `src` get the simulated `node:net`, `node:tls` and so on, and globals of the
 * simulation. Their code is what it is, but for numbers that are scaled (`scale.ts`), and for a fault that is put back in to see it found.
 */
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import { changed, type Change } from './change.ts';
import { SCALES } from './scale.ts';

const SOURCE = new URL('../../src/', import.meta.url).href;
const STANDINS = new Map(
  ['net', 'tls', 'dns', 'fs', 'crypto', 'perf_hooks'].map((name) => [`node:${name}`, new URL(`./node/${name}.ts`, import.meta.url).href]),
);
const GLOBALS = 'setTimeout, clearTimeout, setInterval, clearInterval, setImmediate, clearImmediate, Date, Math, performance'.split(', ');

/** To be called before anything of `src` is loaded. */
export function replaceSurroundings(faults: readonly Change[] = []): void {
  const changes = Map.groupBy([...SCALES, ...faults], ({ file }) => SOURCE + file);
  registerHooks({
    resolve: (specifier, context, next) => {
      const standin = context.parentURL?.startsWith(SOURCE) === true ? STANDINS.get(specifier) : undefined;
      return standin === undefined ? next(specifier, context) : { url: standin, shortCircuit: true, format: 'module-typescript' };
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
  const used = GLOBALS.filter((name) => new RegExp(`\\b${name}\\b`).test(text) && !new RegExp(`import .*\\b${name}\\b`).test(text));
  return used.length === 0 ? '' : `import { ${used.join(', ')} } from '${new URL('./node/globals.ts', import.meta.url).href}'; `;
}
