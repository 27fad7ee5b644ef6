/** Replacements of Node.js's modules around the router, and around the signing part of the agent. */
import { PURE, type Replacements } from './load.ts';
import type { Change } from './change.ts';
import { SCALES } from './scale.ts';

export const STANDINS: ReadonlyMap<string, URL> = new Map([
  ...['net', 'tls', 'https', 'dns', 'fs', 'crypto', 'perf_hooks'].map((name): [string, URL] => [
    `node:${name}`,
    new URL(`./node/${name}.ts`, import.meta.url),
  ]),
  ['x509/facts.ts', new URL('./node/facts.ts', import.meta.url)],
  ['identity/site-id.ts', new URL('./node/site-id.ts', import.meta.url)],
  ['memory/limit.ts', new URL('./node/memory-limit.ts', import.meta.url)],
  ['net/tls-feed.ts', new URL('./node/tls-feed.ts', import.meta.url)],
]);

/** Each router takes less memory than any machine has by `node:os`. Worlds have their own loggers, which check for no terminal. */
const KEPT = new Set([...PURE, 'node:async_hooks', 'node:os', 'node:tty']);

export const aroundRouters = (faults: readonly Change[]): Replacements => ({
  standins: STANDINS,
  kept: KEPT,
  changes: [...SCALES, ...faults],
});
