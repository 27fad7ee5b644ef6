import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { momentOf } from './audit-moments.ts';
import type { Seen } from '../cluster/expectation.ts';
import { startsOf, type Moment, type PodStart } from './pod-start.ts';
import type { Mounts } from './trivial-driver/node-plugin.ts';

export interface Run {
  /** Position in the audit log, before the StatefulSet was created. */
  readonly offset: number;
  /** When it was, by performance.now(). */
  readonly start: number;
  readonly namespace: string;
  readonly running: readonly Seen[];
  /** Mounts of the trivial driver, which writes nothing to the API server. */
  readonly mounts: Mounts;
}

/** How each pod of a run came up, once all of them run. */
export async function readStarts(auditLog: string, run: Run): Promise<readonly PodStart[]> {
  const moments: Moment[] = [];
  for await (const line of createInterface({ input: createReadStream(auditLog, { start: run.offset }) })) {
    const moment = momentOf(line, run.namespace);
    if (moment !== undefined) moments.push(moment);
  }
  const wall = (at: number): number => performance.timeOrigin + at;
  for (const { name, uid, at } of run.running) {
    moments.push({ of: 'pod', name, stage: 'running', at: wall(at) });
    const mount = run.mounts.get(uid);
    if (mount === undefined) continue;
    moments.push({ of: 'uid', name: uid, stage: 'mount asked for', at: wall(mount.asked) });
    moments.push({ of: 'uid', name: uid, stage: 'mount answered', at: wall(mount.answered) });
  }
  return startsOf(run.running, moments, wall(run.start));
}
