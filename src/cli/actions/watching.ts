/** Shows something again whenever it has changed. */
import type { OutputFormat } from '../output/output.ts';
import type { Terminal } from '../output/terminal.ts';
import { messageOf } from '../../telemetry/log.ts';
import { pause } from '../../work/pause.ts';
import type { Context } from './waiting.ts';

/** Milliseconds between two reads. */
const READ_EVERY = 500;
/** Milliseconds until another read after one that failed. */
const RETRY_AFTER = 2_000;
/** ECMA-48: erase the screen and what has scrolled off it, and go to its upper left corner. */
const CLEAR = '\u001b[2J\u001b[3J\u001b[H';

/**
 * Writes what `show` writes, and again each time that it differs, until the process ends. A screen is cleared before; elsewhere `---`
 * stands between, as in a stream of YAML. Only the first read may fail: a later failure is noted once and retried.
 * @param until ends it, for tests
 * @param every milliseconds between two reads, for tests
 */
export async function watchOutput<T extends Context>(
  context: T,
  output: OutputFormat | undefined,
  show: (context: T) => Promise<void>,
  {
    until,
    every = READ_EVERY,
    retryAfter = RETRY_AFTER,
  }: { readonly until?: AbortSignal; readonly every?: number; readonly retryAfter?: number } = {},
): Promise<void> {
  const { resources, terminal } = context;
  using _followed = resources.follow();
  let before: string | undefined;
  let failure: string | undefined;
  for (;;) {
    if (until?.aborted === true) return;
    try {
      const parts = await record(context, show);
      const now = parts.map(([, text]) => text).join('');
      // After a failure it is written again, so that everyone sees that it is up to date.
      if (now !== before || failure !== undefined) {
        if (terminal.isScreen === true) terminal.out(CLEAR);
        else if (before !== undefined && output !== 'json') terminal.out('---\n');
        for (const [to, text] of parts) terminal[to](text);
        before = now;
        failure = undefined;
      }
      await Promise.all([resources.wait(every), pause(every)]);
    } catch (error) {
      if (before === undefined) throw error;
      const message = messageOf(error);
      if (message !== failure) terminal.note(`earshot: ${message.replace(/\.$/, '')}. Trying again.\n`);
      failure = message;
      await pause(retryAfter);
    }
  }
}

type Part = readonly [to: 'out' | 'note', text: string];

/** What `show` writes, without writing it. */
async function record<T extends Context>(context: T, show: (context: T) => Promise<void>): Promise<readonly Part[]> {
  const parts: Part[] = [];
  const terminal: Terminal = {
    ...context.terminal,
    out: (text) => void parts.push(['out', text]),
    note: (text) => void parts.push(['note', text]),
  };
  await show({ ...context, terminal });
  return parts;
}
