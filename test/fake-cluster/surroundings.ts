/** Replacements of sockets, disks and time for the processes of a simulated cluster: everything of Earshot itself is real. */
import type { Change } from '../simulate/change.ts';
import { PURE, type Replacements } from '../simulate/load.ts';

const here = (name: string): URL => new URL(`./node/${name}.ts`, import.meta.url);
const simulated = (name: string): URL => new URL(`../simulate/node/${name}.ts`, import.meta.url);

const STANDINS: ReadonlyMap<string, URL> = new Map([
  ['node:crypto', simulated('crypto')],
  ['node:perf_hooks', simulated('perf_hooks')],
  ['node:fs/promises', here('fs-promises')],
  ['undici/lib/dispatcher/pool.js', here('pool')],
  ['@prometheus-io/client', here('prometheus')],
  ['telemetry/log.ts', here('log')],
  ['cli/processes/telemetry-http.ts', here('telemetry-http')],
  ['kube/client/config.ts', here('config')],
  ['cli/processes/crash-handler.ts', here('crash-handler')],
  ['exposure/csi/socket-server.ts', here('socket-server')],
]);

/** The world decides whether a reconcile that requests a recheck without a failure gets it. */
export const CHANGES: readonly Change[] = [
  {
    file: 'work/queue.ts',
    from: 'if (result.retryAfter !== undefined) this.#delay(this.#retries, key, result.retryAfter);',
    to: 'if (result.retryAfter !== undefined) globalThis.playedRecheck(this.#options.name, result, (after) => this.#delay(this.#retries, key, after));',
  },
  // So that a list has more than one page.
  { file: 'kube/client/call.ts', from: 'const PAGE_SIZE = 500;', to: 'const PAGE_SIZE = 3;' },
];

/** Of the one only constants are used, of the other only what looks at text. */
const KEPT = new Set([...PURE, 'node:fs', 'node:net']);

export const aroundClusters = (faults: readonly Change[]): Replacements => ({
  standins: STANDINS,
  kept: KEPT,
  changes: [...CHANGES, ...faults],
});
