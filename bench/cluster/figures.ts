/** What figures should reach, and whether they do: pure. */
import { format } from '../markdown.ts';
import { median, percentile } from '../statistics.ts';

export type Unit = '×' | 's' | 'MB' | '%' | '';

export interface Figure<Scenario extends string = string> {
  readonly id: string;
  readonly scenario: Scenario;
  readonly what: string;
  readonly unit: Unit;
  /** Which value stands for all samples. */
  readonly by: 'median' | 'p99' | 'most';
  /** How many of them a whole run takes. */
  readonly samples: number;
  /** The most that it should be. Left out: it explains other figures. */
  readonly limit?: number;
}

/** How rows of the table are written, where each scenario takes so many samples. */
export function rows<Scenario extends string>(
  samples: Readonly<Record<Scenario, number>>,
): {
  readonly aim: (scenario: Scenario, id: string, what: string, limit: number, unit?: Unit, by?: Figure['by']) => Figure<Scenario>;
  readonly explain: (scenario: Scenario, id: string, what: string, unit?: Unit) => Figure<Scenario>;
} {
  return {
    aim: (scenario, id, what, limit, unit = '', by = 'median') => ({ scenario, id, what, limit, unit, by, samples: samples[scenario] }),
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

/** `met`, or by how much it was missed; empty for what has no limit. What is not whole is not met. */
export function verdictOf({ limit, unit }: Figure, outcome: Outcome): string {
  if (outcome.kind === 'failed') return 'failed';
  if (outcome.kind === 'not-asked' || limit === undefined) return '';
  if (outcome.value <= limit) return outcome.brokeOff === undefined ? 'met' : 'incomplete';
  const excess = outcome.value - limit;
  return limit === 0 ? `missed by ${format(excess, unit)}` : `missed by ${format(excess, unit)} (${Math.ceil((100 * excess) / limit)} %)`;
}

export function span(seconds: number): string {
  return seconds % 60 === 0 ? `${seconds / 60} min` : `${seconds} s`;
}
