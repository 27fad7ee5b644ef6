/** How figures of two revisions compare: pure. */
import type { Figure, Unit } from './connection/figures.ts';
import { format, table } from './markdown.ts';
import { median } from './statistics.ts';

/** Systems of a comparison. */
export const SIDES = ['baseline', 'current', 'haproxy'] as const;
export type Side = (typeof SIDES)[number];

/** Samples of one figure, one for each round. */
export type SideSamples = Readonly<Partial<Record<Side, readonly number[]>>>;

/** Ratios of the rounds; undefined without a sample of both in any round. */
export interface Ratio {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

export type GateVerdict = 'worse' | 'better' | 'equal' | 'not measured';

/** Change of a median that counts. */
const NOTABLE = 0.05;
const largerIsBetter: ReadonlySet<Unit> = new Set(['Gbit/s', 'a second']);

/** Divides round by round, so that a machine whose speed changes affects both alike. */
export function ratioOf(over: readonly number[] = [], under: readonly number[] = []): Ratio | undefined {
  const ratios = over.slice(0, under.length).map((value, round) => value / (under[round] ?? Number.NaN));
  if (ratios.length === 0) return undefined;
  return { median: median(ratios), least: Math.min(...ratios), most: Math.max(...ratios) };
}

/** A figure differs if its median does by more than 5 %, and every round agrees. */
export function gateVerdict(unit: Unit, { current, baseline }: SideSamples): GateVerdict {
  const ratio = ratioOf(current, baseline);
  if (ratio === undefined) return 'not measured';
  const [isMore, isLess] = [ratio.median > 1 + NOTABLE && ratio.least > 1, ratio.median < 1 - NOTABLE && ratio.most < 1];
  if (!isMore && !isLess) return 'equal';
  return isMore === largerIsBetter.has(unit) ? 'better' : 'worse';
}

/** One row for each figure that was measured. */
export function gateTable(figures: readonly Figure[], samples: ReadonlyMap<string, SideSamples>, revision: string): readonly string[] {
  const rows = figures.flatMap(({ id, what, unit }) => {
    const of = samples.get(id);
    if (of === undefined) return [];
    const value = (side: Side): string => (of[side] === undefined ? '' : format(median(of[side]), ''));
    const toBaseline = ratioText(ratioOf(of.current, of.baseline));
    const toHaproxy = ratioText(ratioOf(of.current, of.haproxy));
    return [[`${what}, ${unit}`, value('baseline'), value('current'), toBaseline, gateVerdict(unit, of), value('haproxy'), toHaproxy]];
  });
  return table(['what', revision, 'current', `current to ${revision}`, '', 'HAProxy', 'current to HAProxy'], rows);
}

function ratioText(ratio: Ratio | undefined): string {
  return ratio === undefined ? '' : `${format(ratio.median, '')} × (${format(ratio.least, '')} to ${format(ratio.most, '')})`;
}
