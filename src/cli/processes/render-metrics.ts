import type { metrics } from '../../telemetry/metrics.ts';
import { pause } from '../../work/pause.ts';

/** Series that are written in one go: some milliseconds. */
const PAGE = 256;

type Registry = typeof metrics;
/** Not looked into. */
type Series = object;

interface Known {
  readonly values: Iterable<Series>;
}

/** What the registry has of a metric. Not all is in its types; whether it is there is looked at. */
interface Source {
  get(): Promise<Known>;
  getForPromString?(): Promise<Known>;
}

/**
 * The text that the registry makes itself, a page at a time: it would write tens of thousands of series in one go, each some ten microseconds,
 * and what sites and methods there are others say. After each page everybody else has as long as it took.
 */
export async function renderMetrics(registry: Registry): Promise<string> {
  const texts: string[] = [];
  for (const source of registry.getMetricsAsArray() as unknown as readonly Source[]) texts.push(await textOf(registry, source));
  return `${texts.join('\n\n')}\n`;
}

async function textOf(registry: Registry, source: Source): Promise<string> {
  const { values, ...about } = await (source.getForPromString?.() ?? source.get());
  const all = values[Symbol.iterator]();
  let text = '';
  for (;;) {
    const since = performance.now();
    const page = takeOf(all);
    // All that it asks of a metric.
    const metric = { get: async () => ({ ...about, values: page }) } as unknown as Parameters<Registry['getMetricsAsString']>[0];
    const written = await registry.getMetricsAsString(metric);
    if (text === '') text = written;
    else if (page.length > 0) text += `\n${withoutHead(written)}`;
    if (page.length < PAGE) return text;
    await pause(performance.now() - since);
  }
}

/** The next of them. */
function takeOf(all: Iterator<Series>): Series[] {
  const taken: Series[] = [];
  while (taken.length < PAGE) {
    const next = all.next();
    if (next.done === true) break;
    taken.push(next.value);
  }
  return taken;
}

/** Without what it says of the metric as such: two lines, `# HELP` and `# TYPE`. */
const withoutHead = (text: string): string => text.slice(text.indexOf('\n', text.indexOf('\n') + 1) + 1);
