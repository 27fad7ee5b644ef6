/** Figures as a document shows them: pure. */
import { failed, format, machineLine, table } from '../markdown.ts';
import type { Machine } from '../machine.ts';
import { median } from '../statistics.ts';
import { timesHaproxy, verdictOf, type Aim, type Figure, type Samples } from './figures.ts';
import type { ScenarioName, SystemName } from './options.ts';

export interface Circumstances extends Machine {
  /** Versions of what is compared and of what measures. */
  readonly versions: Readonly<Record<string, string>>;
  readonly rounds: number;
  readonly seconds: number;
}

export interface Result {
  readonly figure: Figure;
  readonly samples: Samples;
}

const TITLES: Readonly<Record<SystemName, string>> = { direct: 'direct', haproxy: 'HAProxy', rathole: 'rathole', earshot: 'Earshot' };

/** One table of all figures that were measured, and what failed. */
export function report(
  results: readonly Result[],
  systems: readonly SystemName[],
  failures: ReadonlyMap<ScenarioName, string>,
  on: Circumstances,
): string {
  const shown = results.filter(({ samples }) => Object.values(samples).some((values) => values.length > 0));
  const verdicts = shown.map(({ figure, samples }) => verdictOf(figure, samples).kind);
  const [met, missed] = (['met', 'missed'] as const).map((kind) => verdicts.filter((each) => each === kind).length);
  return [
    `${machineLine(on)}, Node.js ${on.node},`,
    `${Object.entries(on.versions)
      .map(([name, version]) => `${name} ${version}`)
      .join(', ')}; load of the machine before: ${on.loadBefore.toFixed(2)}.`,
    `Medians of ${on.rounds} interleaved rounds of ${on.seconds} s a measurement; in brackets the least and the most. Command: \`${on.command}\``,
    '',
    ...table(
      ['what', 'goal', ...systems.map((system) => TITLES[system]), 'Earshot to HAProxy', ''],
      shown.map(({ figure, samples }) => [
        `${figure.what}, ${figure.unit}`,
        reach(figure.aim),
        ...systems.map((system) => cell(samples[system] ?? [])),
        timesHaproxy(samples),
        verdict(figure, samples),
      ]),
    ),
    '',
    `${met} met, ${missed} missed.`,
    ...failed(failures),
  ].join('\n');
}

function reach(aim: Aim | undefined): string {
  if (aim === undefined) return '';
  if (aim.kind === 'value') return `≤ ${format(aim.most, '')}`;
  return 'least' in aim ? `≥ ${aim.least} × HAProxy` : `≤ ${aim.most} × HAProxy`;
}

function cell(samples: readonly number[]): string {
  if (samples.length === 0) return '';
  const value = format(median(samples), '');
  return samples.length === 1 ? value : `${value} (${format(Math.min(...samples), '')} to ${format(Math.max(...samples), '')})`;
}

function verdict(figure: Figure, samples: Samples): string {
  const result = verdictOf(figure, samples);
  if (result.kind === 'met') return 'met';
  if (result.kind === 'missed') return `missed by ${Math.ceil(100 * result.by)} %`;
  return result.kind === 'not-measured' ? 'not measured' : '';
}
