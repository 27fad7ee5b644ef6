import { cpuSeconds } from '../../test/harness/proc.ts';

export interface Running {
  readonly pid: number;
}

/** @returns the seconds of CPU that each group has taken since this was called */
export function cpuSince<Group extends string>(groups: Readonly<Record<Group, readonly Running[]>>): () => Readonly<Record<Group, number>> {
  const of = (): Record<string, number> =>
    Object.fromEntries(Object.entries<readonly Running[]>(groups).map(([name, all]) => [name, cpuOf(all)]));
  const before = of();
  // Of the same groups.
  return () => Object.fromEntries(Object.entries(of()).map(([name, now]) => [name, now - (before[name] ?? 0)])) as Record<Group, number>;
}

function cpuOf(processes: readonly Running[]): number {
  return processes.reduce((total, { pid }) => total + cpuSeconds(pid), 0);
}
