import { messageOf } from '../program.ts';
import { outcomeOf, type Figure, type Outcome } from './figures.ts';
import type { Result } from './report.ts';

export interface Samples {
  readonly results: readonly Result[];
  /** By a figure's id. */
  readonly samples: Readonly<Record<string, readonly number[]>>;
  /** Differences from other measurements, in words. */
  readonly remarks: readonly string[];
  /** Whether all was measured that was asked for. */
  readonly isWhole: boolean;
}

/** Self-description of a scenario. */
export interface Notes {
  /** Adds a sample to a figure, by its id. */
  readonly record: (id: string, sample: number) => void;
  /** Adds a sentence on what was unlike the rest, for the report. */
  readonly tell: (text: string) => void;
  readonly log: (line: string) => void;
}

export interface Scenarios<Name extends string> {
  readonly figures: readonly Figure<Name>[];
  /** Those that were asked for, in the order in which they run. */
  readonly names: readonly Name[];
  readonly run: (name: Name, to: Notes) => Promise<void>;
  /** Clears up after one that failed. */
  readonly clear: () => Promise<void>;
  readonly log: (line: string) => void;
}

/** Runs scenarios one after the other. One that fails says so in its figures, and the others still run. */
export async function measureAll<Name extends string>({ figures, names, run, clear, log }: Scenarios<Name>): Promise<Samples> {
  const samples = new Map(figures.map(({ id }): [string, number[]] => [id, []]));
  const failures = new Map<Name, string>();
  const remarks: string[] = [];
  const record = (id: string, sample: number): void => {
    const known = samples.get(id);
    if (known === undefined) throw new TypeError(`there is no figure ${id}`);
    known.push(sample);
  };
  const tell = (text: string): void => void remarks.push(text);
  for (const name of names) {
    log(`== ${name}`);
    try {
      await run(name, { record, tell, log });
    } catch (error) {
      failures.set(name, messageOf(error));
      log(`${name} failed: ${messageOf(error)}`);
      await clear().catch((left: unknown) => log(`what it left could not be cleared up: ${messageOf(left)}`));
    }
  }
  const results = figures.map((figure) => ({
    figure,
    outcome: outcomeOf(figure, samples.get(figure.id) ?? [], failures.get(figure.scenario)),
  }));
  return { results, samples: Object.fromEntries(samples), remarks, isWhole: !results.some(({ outcome }) => isBroken(outcome)) };
}

function isBroken(outcome: Outcome): boolean {
  return outcome.kind === 'failed' || (outcome.kind === 'measured' && outcome.brokeOff !== undefined);
}
