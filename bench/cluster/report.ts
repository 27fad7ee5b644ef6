/** Figures as a document shows them: pure. */
import { failed, format, machineLine, table } from '../markdown.ts';
import type { Machine } from '../machine.ts';
import { hasAim, verdictOf, type Figure, type Outcome } from './figures.ts';

/** Properties that figures depend on. */
export interface Circumstances extends Machine {
  readonly kubernetes: string;
}

export interface Result {
  readonly figure: Figure;
  readonly outcome: Outcome;
}

/** A table of what was aimed at, one of what stands behind it, what was unlike the rest, and on what machine. Figures that were not asked for are left out. */
export function report(results: readonly Result[], on: Circumstances, remarks: readonly string[] = []): string {
  const shown = results.filter(({ outcome }) => outcome.kind !== 'not-asked');
  const aims = shown.filter(({ figure }) => hasAim(figure));
  const reasons = shown.filter(({ figure }) => !hasAim(figure));
  const missed = aims.filter(({ figure, outcome }) => verdictOf(figure, outcome) !== 'met').length;
  return [
    `${machineLine(on)},`,
    `Kubernetes ${on.kubernetes}, Node.js ${on.node}; load of the machine before: ${on.loadBefore.toFixed(2)}. Command: \`${on.command}\``,
    '',
    ...table(['what', 'goal', 'measured', 'spread (samples)', ''], aims.map(rowOfAim)),
    '',
    missed === 0 ? `All ${aims.length} are met.` : `${aims.length - missed} of ${aims.length} are met.`,
    '',
    'What stands behind them:',
    '',
    ...table(
      ['what', 'measured', 'spread (samples)'],
      reasons.map(({ figure, outcome }) => [figure.what, measured(figure, outcome), spread(figure, outcome)]),
    ),
    ...(remarks.length === 0 ? [] : ['', 'What was unlike the rest:', '', ...remarks.map((remark) => `- ${remark}`)]),
    ...failed(failures(shown)),
  ].join('\n');
}

function rowOfAim({ figure, outcome }: Result): readonly string[] {
  const aim = figure.least === undefined ? `≤ ${format(figure.limit ?? 0, figure.unit)}` : `≥ ${format(figure.least, figure.unit)}`;
  return [figure.what, aim, measured(figure, outcome), spread(figure, outcome), verdictOf(figure, outcome)];
}

function measured({ unit }: Figure, outcome: Outcome): string {
  return outcome.kind === 'measured' ? format(outcome.value, unit) : 'failed';
}

function spread({ unit, samples }: Figure, outcome: Outcome): string {
  if (outcome.kind !== 'measured') return '';
  const { least, most, count, brokeOff } = outcome;
  const range = least === most ? format(least, unit) : `${format(least, '')} to ${format(most, unit)}`;
  return `${range} (${brokeOff === undefined ? count : `${count} of ${samples}`})`;
}

function failures(results: readonly Result[]): ReadonlyMap<string, string> {
  return new Map(
    results.flatMap(({ figure, outcome }): [string, string][] => {
      if (outcome.kind === 'failed') return [[figure.scenario, outcome.why]];
      return outcome.kind === 'measured' && outcome.brokeOff !== undefined ? [[figure.scenario, outcome.brokeOff]] : [];
    }),
  );
}
