/** Aims of figures, and whether they are reached: pure. */
import { format } from '../markdown.ts';
import { median, percentile } from '../statistics.ts';

export type Unit = '×' | 's' | 'MB' | '%' | 'Gbit/s' | 'a second' | '';

export interface Figure<Scenario extends string = string> {
  readonly id: string;
  readonly scenario: Scenario;
  readonly what: string;
  readonly unit: Unit;
  /** Which value stands for all samples. */
  readonly by: 'median' | 'p99' | 'most';
  /** How many of them a whole run takes. */
  readonly samples: number;
  /** The most that it should be. */
  readonly limit?: number;
  /** The least that it should be. Without either it explains other figures. */
  readonly least?: number;
}

/** How rows of the table are written, where each scenario takes so many samples. */
export function rows<Scenario extends string>(
  samples: Readonly<Record<Scenario, number>>,
): {
  readonly aim: (scenario: Scenario, id: string, what: string, limit: number, unit?: Unit, by?: Figure['by']) => Figure<Scenario>;
  readonly atLeast: (scenario: Scenario, id: string, what: string, least: number, unit?: Unit) => Figure<Scenario>;
  readonly explain: (scenario: Scenario, id: string, what: string, unit?: Unit) => Figure<Scenario>;
} {
  return {
    aim: (scenario, id, what, limit, unit = '', by = 'median') => ({ scenario, id, what, limit, unit, by, samples: samples[scenario] }),
    atLeast: (scenario, id, what, least, unit = '') => ({ scenario, id, what, least, unit, by: 'median', samples: samples[scenario] }),
    explain: (scenario, id, what, unit = '') => ({ scenario, id, what, unit, by: 'median', samples: samples[scenario] }),
  };
}

export type Outcome =
  | { readonly kind: 'not-asked' }
  | { readonly kind: 'failed'; readonly why: string }
  | {
      readonly kind: 'measured';
      readonly value: number;
      readonly least: number;
      readonly most: number;
      readonly count: number;
      /** Why the scenario broke off before it had all samples. */
      readonly brokeOff?: string;
    };

const standsFor: Readonly<Record<Figure['by'], (samples: readonly number[]) => number>> = {
  median,
  p99: (samples) => percentile(samples, 0.99),
  most: (samples) => Math.max(...samples),
};

/** `failure` is why the figure's scenario broke off; undefined where it ran to its end, or was not asked for. */
export function outcomeOf(figure: Figure, samples: readonly number[], failure: string | undefined): Outcome {
  if (samples.length === 0) return failure === undefined ? { kind: 'not-asked' } : { kind: 'failed', why: failure };
  return {
    kind: 'measured',
    value: standsFor[figure.by](samples),
    least: Math.min(...samples),
    most: Math.max(...samples),
    count: samples.length,
    ...(failure === undefined || samples.length >= figure.samples ? {} : { brokeOff: failure }),
  };
}

export function hasAim({ limit, least }: Figure): boolean {
  return limit !== undefined || least !== undefined;
}

/** `met`, or by how much it was missed; empty for what has no limit. What is not whole is not met. */
export function verdictOf(figure: Figure, outcome: Outcome): string {
  if (outcome.kind === 'failed') return 'failed';
  if (outcome.kind === 'not-asked' || !hasAim(figure)) return '';
  const { limit = Number.POSITIVE_INFINITY, least = Number.NEGATIVE_INFINITY, unit } = figure;
  const { value } = outcome;
  if (value <= limit && value >= least) return outcome.brokeOff === undefined ? 'met' : 'incomplete';
  if (value < least) return `missed by ${format(least - value, unit)} (${Math.ceil((100 * (least - value)) / least)} %)`;
  const excess = value - limit;
  return limit === 0 ? `missed by ${format(excess, unit)}` : `missed by ${format(excess, unit)} (${Math.ceil((100 * excess) / limit)} %)`;
}

export function span(seconds: number): string {
  return seconds % 60 === 0 ? `${seconds / 60} min` : `${seconds} s`;
}
