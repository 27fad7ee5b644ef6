/** Shows something again whenever it has changed. */
import type { OutputFormat } from '../output/output.ts';
import type { Terminal } from '../output/terminal.ts';
import { pause } from '../../work/pause.ts';
import type { Context } from './waiting.ts';

/** Milliseconds between two looks. */
const LOOK_EVERY = 500;
/** ECMA-48: erase the screen and what has scrolled off it, and go to its upper left corner. */
const CLEAR = '\u001b[2J\u001b[3J\u001b[H';

/**
 * Writes what `show` writes, and again each time that it differs, until the process is told to end. A screen is cleared before; elsewhere `---`
 * stands between, as in a stream of YAML.
 * @param until what ends it, and after how many milliseconds it looks again: for tests
 */
export async function watchOutput<T extends Context>(
  context: T,
  output: OutputFormat | undefined,
  show: (context: T) => Promise<void>,
  { until, every = LOOK_EVERY }: { readonly until?: AbortSignal; readonly every?: number } = {},
): Promise<void> {
  const { resources, terminal } = context;
  using _followed = resources.follow();
  let before: string | undefined;
  for (;;) {
    if (until?.aborted === true) return;
    const parts: (readonly [to: 'out' | 'note', text: string])[] = [];
    const recorder: Terminal = {
      ...terminal,
      out: (text) => void parts.push(['out', text]),
      note: (text) => void parts.push(['note', text]),
    };
    await show({ ...context, terminal: recorder });
    const now = parts.map(([, text]) => text).join('');
    if (now !== before) {
      if (terminal.isScreen === true) terminal.out(CLEAR);
      else if (before !== undefined && output !== 'json') terminal.out('---\n');
      for (const [to, text] of parts) terminal[to](text);
      before = now;
    }
    await Promise.all([resources.wait(every), pause(every)]);
  }
}
