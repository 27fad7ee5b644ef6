import { CallCounter } from './audit.ts';
import type { Tally } from './audit-calls.ts';
import { secondsSince, type Ground } from './load.ts';
import { cpuSince, type Running } from './processes.ts';

export interface Quiet<Group extends string> {
  readonly seconds: number;
  readonly calls: Tally;
  /** Percent of one core. */
  readonly cpu: Readonly<Record<Group, number>>;
}

/** Requests of Earshot's programs to the API server, and usage of processes, while nothing changes. */
export async function whileQuiet<Group extends string>(
  { cluster, log }: Pick<Ground, 'cluster' | 'log'>,
  what: string,
  groups: Readonly<Record<Group, readonly Running[]>>,
  pass: () => Promise<unknown>,
): Promise<Quiet<Group>> {
  const calls = await CallCounter.start(cluster);
  const spent = cpuSince(groups);
  const start = performance.now();
  await pass();
  const seconds = secondsSince(start);
  const shares = Object.entries<number>(spent()).map(([group, cpu]) => [group, (100 * cpu) / seconds] as const);
  await calls.settle();
  for (const call of calls.first) log(`${what}, and yet: ${call}`);
  const { writes, reads, lists, watches, leases } = calls.own;
  log(
    `${what}: ${writes} writes, ${reads} reads (${lists} of them lists), ${watches} watches resumed, ${leases} calls for Leases; of a core ` +
      shares.map(([group, share]) => `${group} ${share.toFixed(2)} %`).join(', '),
  );
  // Of the same groups.
  return { seconds, calls: calls.own, cpu: Object.fromEntries(shares) as Record<Group, number> };
}
