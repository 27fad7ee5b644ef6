/** When each pod of a StatefulSet came how far, and which of them came late and why: pure. */
import { median, percentile } from '../statistics.ts';

/** In their order. A pod without a claim is created, scheduled and running. */
export const STAGES = ['created', 'claim bound', 'scheduled', 'mount asked for', 'mount answered', 'running'] as const;
export type Stage = (typeof STAGES)[number];

/** Something that is known of a pod: by its name, by its claim's, or by its uid. */
export interface Moment {
  readonly of: 'pod' | 'claim' | 'uid';
  readonly name: string;
  readonly stage: Stage;
  /** Milliseconds of the clock on the wall. */
  readonly at: number;
}

/** Seconds after the StatefulSet was created. */
export type Moments = Readonly<Partial<Record<Stage, number>>>;

export interface PodStart {
  readonly pod: string;
  readonly moments: Moments;
}

export interface Straggler extends PodStart {
  /** Stage that it reached much later after the stage before than others do. */
  readonly late: Stage | undefined;
  /** By how many seconds more than the median. */
  readonly excess: number;
}

export interface Pace {
  readonly median: number;
  readonly p90: number;
  readonly last: number;
  /** How long after the last but two the last came. */
  readonly gap: number;
}

const REPEATED: Readonly<Partial<Record<Stage, Stage>>> = { 'claim bound': 'scheduled', 'mount answered': 'running' };
/** A pod came late where it runs that much later than half of all do: so many times their time, and seconds. */
const LATE = { times: 1.5, seconds: 2 } as const;

/** @param running seconds until each ran */
export function paceOf(running: readonly number[]): Pace {
  const sorted = running.toSorted((a, b) => a - b);
  const last = sorted.at(-1);
  const lastButTwo = sorted.at(-3) ?? sorted[0];
  if (last === undefined || lastButTwo === undefined) throw new TypeError('no pods, no pace');
  return { median: median(sorted), p90: percentile(sorted, 0.9), last, gap: last - lastButTwo };
}

/** @param start of the StatefulSet, in milliseconds of the clock on the wall, as are the moments */
export function startsOf(
  pods: readonly { readonly name: string; readonly uid: string }[],
  moments: readonly Moment[],
  start: number,
): readonly PodStart[] {
  const told = Map.groupBy(moments, ({ of, name }) => `${of} ${name}`);
  return pods.map(({ name, uid }) => {
    // A claim is called after the template, listener, and its pod.
    const own = [`pod ${name}`, `claim listener-${name}`, `uid ${uid}`].flatMap((key) => told.get(key) ?? []);
    const reached = STAGES.flatMap((stage) => {
      const at = reachedAt(stage, own);
      return at === undefined ? [] : [[stage, (at - start) / 1_000] as const];
    });
    return { pod: name, moments: Object.fromEntries(reached) };
  });
}

/** Some objects are written more than once. The last write before the waiting stage began counts for those, and the first write for others. */
function reachedAt(stage: Stage, moments: readonly Moment[]): number | undefined {
  const of = (wanted: Stage | undefined): readonly number[] => moments.filter((moment) => moment.stage === wanted).map(({ at }) => at);
  const next = REPEATED[stage];
  if (next === undefined) return of(stage).toSorted((a, b) => a - b)[0];
  const end = Math.min(...of(next));
  return of(stage)
    .filter((at) => at <= end)
    .toSorted((a, b) => b - a)[0];
}

/** Those that run much later than the others, each with the stage in which it lost the most. */
export function stragglersOf(starts: readonly PodStart[]): readonly Straggler[] {
  const runningOf = ({ moments }: PodStart): number => moments.running ?? Infinity;
  const limit = LATE.times * median(starts.map(runningOf)) + LATE.seconds;
  const usual = usualSpans(starts);
  return starts
    .filter((start) => runningOf(start) > limit)
    .map((start) => {
      const excesses = spansOf(start).map(([late, span]) => ({ late, excess: span - (usual.get(late) ?? 0) }));
      const [most = { late: undefined, excess: 0 }] = excesses.toSorted((a, b) => b.excess - a.excess);
      return { ...start, ...most };
    });
}

/** `web-7: created 1.2, scheduled 11.9 (10.1 s more than usual), running 12.4` */
export function describeStart({ pod, moments, late, excess }: Straggler): string {
  const parts = STAGES.flatMap((stage) => {
    const at = moments[stage];
    if (at === undefined) return [];
    return [`${stage} ${at.toFixed(1)}${stage === late ? ` (${excess.toFixed(1)} s more than usual)` : ''}`];
  });
  return `${pod}: ${parts.join(', ')}`;
}

/** How long each stage took after the one before it. */
function spansOf({ moments }: PodStart): readonly (readonly [stage: Stage, seconds: number])[] {
  const reached = STAGES.flatMap((stage) => {
    const at = moments[stage];
    return at === undefined ? [] : [[stage, at] as const];
  });
  return reached.map(([stage, at], index) => [stage, at - (reached[index - 1]?.[1] ?? 0)] as const);
}

function usualSpans(starts: readonly PodStart[]): ReadonlyMap<Stage, number> {
  const all = Map.groupBy(starts.flatMap(spansOf), ([stage]) => stage);
  return new Map([...all].map(([stage, spans]) => [stage, median(spans.map(([, span]) => span))]));
}
