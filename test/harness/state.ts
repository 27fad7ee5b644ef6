import { readFileSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { HarnessError } from './failures.ts';
import type { ClusterLayout } from './layout.ts';
import type { ProcessRecord } from './processes.ts';

/** Record of a running cluster for other processes: the shape of `.cluster/state.json` and of every cluster's own record. */
export interface ClusterState {
  readonly kubeconfig: string;
  readonly apiUrl: string;
  readonly auditLog: string;
  readonly nodes: readonly {
    readonly name: string;
    readonly netns: string;
    readonly addresses: readonly string[];
    readonly containerdSocket: string;
    readonly kubeletDir: string;
  }[];
  readonly processes: readonly ProcessRecord[];
  /** Everything that taking the cluster down, or acting on it, needs to know. */
  readonly layout: ClusterLayout;
  readonly kubernetes: string;
  readonly credentials: { readonly ca: string; readonly token: string };
  /** Which process to blame for it; a cluster left running on purpose has none. */
  readonly owner?: { readonly pid: number; readonly startTime: string };
}

/** The cluster of `make cluster`. */
export const CHECKOUT_STATE = fileURLToPath(new URL('../../.cluster/state.json', import.meta.url));

export function stateFileOf(layout: Pick<ClusterLayout, 'dir'>): string {
  return `${layout.dir}/state.json`;
}

export function readState(file: string): ClusterState | undefined {
  try {
    // Written by writeState below, and by nothing else.
    return JSON.parse(readFileSync(file, 'utf8')) as ClusterState;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw new HarnessError(
      'NO_CLUSTER',
      `${file} is not the record of a cluster: ${error instanceof Error ? error.message : String(error)}`,
      { cause: error },
    );
  }
}

export async function writeState(file: string, state: ClusterState): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(`${file}.new`, `${JSON.stringify(state, undefined, 2)}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
}
