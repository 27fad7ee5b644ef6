/** A chart of the console's history, with a table of the same values. */
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import UPlot from 'uplot';
import type { SeriesView } from '../contract.ts';
import { get } from './client.ts';
import { byteRate, milliseconds, rate } from './format.ts';
import { route, setQuery } from './route.ts';
import { clock } from './store.ts';

export interface Line {
  readonly title: string;
  /** Series of the API: `all:opened`. */
  readonly of: string;
  readonly tone: 'accent' | 'bad' | 'muted';
}

/** Ranges by name: seconds of a step, and of the whole. */
const RANGES = { '30 min': [10, 1_800], '6 h': [60, 21_600], '48 h': [900, 172_800] } as const;
type Range = keyof typeof RANGES;

const FORMATS = { rate, bytes: byteRate, milliseconds } as const;

export function rangeOf(): Range {
  const text = route.value.query.get('range') ?? '';
  return text in RANGES ? (text as Range) : '30 min';
}

export function Ranges(): JSX.Element {
  const chosen = rangeOf();
  return (
    <div class="choices" role="group" aria-label="Range of the charts">
      {(Object.keys(RANGES) as readonly Range[]).map((range) => (
        <button key={range} type="button" aria-pressed={range === chosen} onClick={() => setQuery('range', range)}>
          {range}
        </button>
      ))}
    </div>
  );
}

export function Chart({
  title,
  lines,
  format,
}: {
  readonly title: string;
  readonly lines: readonly Line[];
  readonly format: keyof typeof FORMATS;
}): JSX.Element {
  const range = rangeOf();
  const [step, seconds] = RANGES[range];
  const series = useSeries(lines, step, seconds);
  const [times, values] = align(series, step, format === 'milliseconds');
  const show = FORMATS[format];
  const isEmpty = values.every((line) => line.every((value) => value === null));
  return (
    <figure class="chart">
      <figcaption>
        {title}
        {lines.map((line, index) => (
          <span key={line.of} class={`key ${line.tone}`}>
            <span class="swatch" aria-hidden="true" />
            {line.title} <b>{show(lastOf(values[index] ?? []))}</b>
          </span>
        ))}
      </figcaption>
      {isEmpty ? (
        <p class="no-data">History begins when the console starts.</p>
      ) : (
        <Plot times={times} values={values} lines={lines} show={show} />
      )}
      <details>
        <summary>Table of {title.toLowerCase()}</summary>
        <table>
          <thead>
            <tr>
              <th scope="col">Time</th>
              {lines.map((line) => (
                <th key={line.of} scope="col" class="number">
                  {line.title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {times.slice(-30).map((time, index) => (
              <tr key={time}>
                <td>{new Date(time * 1000).toLocaleTimeString()}</td>
                {values.map((line, number) => (
                  <td key={lines[number]?.of} class="number">
                    {show(line[Math.max(0, times.length - 30) + index] ?? undefined)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </figure>
  );
}

function lastOf(values: readonly (number | null)[]): number | undefined {
  return values.findLast((value) => value !== null) ?? undefined;
}

function useSeries(lines: readonly Line[], step: number, seconds: number): readonly SeriesView[] {
  const [series, setSeries] = useState<readonly SeriesView[]>([]);
  const of = lines.map((line) => line.of).join('\n');
  const tick = Math.floor(clock.value / 10_000);
  useEffect(() => {
    let isCurrent = true;
    const from = Date.now() - seconds * 1000;
    const asked = of.split('\n').map((each) => get<SeriesView>(`series?of=${encodeURIComponent(each)}&step=${step}&from=${from}`));
    // A failure is shown by the header: the data is old.
    Promise.all(asked).then(
      (found) => isCurrent && setSeries(found),
      () => undefined,
    );
    return () => {
      isCurrent = false;
    };
  }, [of, step, seconds, tick]);
  return series;
}

/** Values by time. The newest step is not complete yet, so its sum is left out. */
function align(
  series: readonly SeriesView[],
  step: number,
  isGauge: boolean,
): readonly [readonly number[], readonly (readonly (number | null)[])[]] {
  const all = series.map(({ points }) => new Map(points.slice(0, isGauge || points.length < 2 ? undefined : -1)));
  // The chart begins with the first measurement: the console may have started a moment ago.
  const known = all.flatMap((points) => [...points].flatMap(([time, value]) => (value === null ? [] : [time])));
  const begin = known.reduce((least, time) => Math.min(least, time), Infinity);
  const times = [...new Set(all.flatMap((points) => [...points.keys()]))]
    .filter((time) => time >= begin)
    .toSorted((one, other) => one - other);
  const scaled = (value: number | null | undefined): number | null =>
    value === null || value === undefined ? null : isGauge ? value : value / step;
  return [times.map((time) => time / 1000), all.map((points) => times.map((time) => scaled(points.get(time))))];
}

interface PlotProps {
  readonly times: readonly number[];
  readonly values: readonly (readonly (number | null)[])[];
  readonly lines: readonly Line[];
  readonly show: (value: number | undefined) => string;
}

const HEIGHT = 150;

function Plot({ times, values, lines, show }: PlotProps): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot>(undefined);
  const scheme = matchMedia('(prefers-color-scheme: dark)').matches;
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const made = new UPlot(optionsOf(lines, show, element.clientWidth), [[], ...lines.map(() => [])], element);
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: HEIGHT }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
    };
  }, [lines.map(({ of }) => of).join('\n'), scheme]);
  useEffect(() => {
    plot.current?.setData([[...times], ...values.map((line) => [...line])]);
  }, [times, values]);
  return <div class="plot" ref={place} aria-hidden="true" />;
}

function optionsOf(lines: readonly Line[], show: (value: number | undefined) => string, width: number): UPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  const axis = { stroke: colour('muted'), grid: { stroke: colour('line'), width: 1 }, ticks: { show: false }, font: '11px system-ui' };
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, points: { size: 5 } },
    scales: { y: { range: (_, least, most) => [Math.min(0, least ?? 0), most === null || most <= 0 ? 1 : most * 1.1] } },
    axes: [axis, { ...axis, size: 72, values: (_, splits) => splits.map((value) => show(value)) }],
    series: [
      {},
      ...lines.map((line) => ({ label: line.title, stroke: colour(line.tone), width: 1.5, spanGaps: false, points: { show: false } })),
    ],
  };
}
