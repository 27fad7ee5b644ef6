/** Shows output again whenever it changes. */
import type { OutputFormat } from '../output/output.ts';
import type { Terminal } from '../output/terminal.ts';
import { messageOf } from '../../telemetry/log.ts';
import { sentence } from '../../text/sentence.ts';
import { pause } from '../../work/pause.ts';
import type { Context } from './waiting.ts';

/** Interval between two reads in milliseconds. */
const READ_EVERY = 500;
/** Milliseconds until the next read after a failed one. */
const RETRY_AFTER = 2_000;
/** ECMA-48: erase the screen and its scrollback, and move the cursor to the upper left corner. */
const CLEAR = '\u001b[2J\u001b[3J\u001b[H';

/**
 * Writes the output of `show`, and writes it again whenever it differs, until the process ends. A screen is cleared first;
 * elsewhere `---` separates outputs, as in a YAML stream. Only the first read may fail; later failures are noted once and
 * retried.
 * @param until ends the watch, for tests
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
      // After a failure the output is written again, which shows that it is up to date.
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
      if (message !== failure) terminal.note(`earshot: ${sentence(message)} Trying again.\n`);
      failure = message;
      await pause(retryAfter);
    }
  }
}

type Part = readonly [to: 'out' | 'note', text: string];

/** Records the output of `show` without writing it. */
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
