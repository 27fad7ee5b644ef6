import { Option, type Command } from 'commander';
import type { LogOptions } from '../actions/log-actions.ts';
import type { Terminal } from '../output/terminal.ts';
import { addPlace, examples, placeWords, positiveInteger } from './options.ts';

/** `earshot logs`. */
export function addLogs(program: Command, terminal: Terminal): void {
  addPlace(
    program
      .command('logs')
      .description("show the log of the site's routers, from the journal, from a file or from the pods")
      .option('-f, --follow', 'follow new lines until Ctrl-C')
      .addOption(new Option('--tail <number>', 'number of last lines').argParser(positiveInteger).default(100))
      .addOption(new Option('-o, --output <format>', 'print the lines unformatted, also on a terminal').choices(['json'])),
  )
    .addHelpText('after', examples('earshot logs', 'earshot -n west logs --follow --tail 20'))
    .action(async (options: LogOptions, command: Command) => {
      const { showLogs } = await import('../actions/log-actions.ts');
      await showLogs(placeWords(command), options, terminal);
    });
}
