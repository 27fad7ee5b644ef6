import type { metrics } from '../../telemetry/metrics.ts';
import { pause } from '../../work/pause.ts';

/** Series rendered without a pause: some milliseconds. */
const PAGE = 256;

type Registry = typeof metrics;
/** Opaque here. */
type Series = object;

interface Known {
  readonly values: Iterable<Series>;
}

/** The part of a metric that is used here. The registry's types lack some of it, so its presence is checked. */
interface Source {
  get(): Promise<Known>;
  getForPromString?(): Promise<Known>;
}

/**
 * Renders the registry's own text in pages. Tens of thousands of series at about ten microseconds each would block the event
 * loop, and peers influence their number (site names, methods). After each page it pauses for as long as the page took.
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
    // The registry uses only this part of a metric.
    const metric = { get: async () => ({ ...about, values: page }) } as unknown as Parameters<Registry['getMetricsAsString']>[0];
    const written = await registry.getMetricsAsString(metric);
    if (text === '') text = written;
    else if (page.length > 0) text += `\n${withoutHead(written)}`;
    if (page.length < PAGE) return text;
    await pause(performance.now() - since);
  }
}

/** Takes the next page of series. */
function takeOf(all: Iterator<Series>): Series[] {
  const taken: Series[] = [];
  while (taken.length < PAGE) {
    const next = all.next();
    if (next.done === true) break;
    taken.push(next.value);
  }
  return taken;
}

/** Removes the two lines about the metric itself, `# HELP` and `# TYPE`. */
const withoutHead = (text: string): string => text.slice(text.indexOf('\n', text.indexOf('\n') + 1) + 1);
