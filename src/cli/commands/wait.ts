import { Option, type Command } from 'commander';
import type { WaitWords } from '../actions/wait-action.ts';
import type { Terminal } from '../output/terminal.ts';
import { addPlace, contextOf, examples, timeoutOption } from './options.ts';

/** `earshot wait`. */
export function addWait(program: Command, terminal: Terminal): void {
  addPlace(
    program
      .command('wait')
      .description('wait until resources are Ready, have another condition, or are deleted')
      .argument('[resources...]', 'KIND/NAME, several of them, or KIND and names')
      .addOption(
        new Option('--for <condition>', 'condition to wait for, such as Ready, Configured or condition=TYPE=STATUS; or delete').default(
          'Ready',
        ),
      )
      .option('--all', 'all resources of the kinds, or of the site')
      .addOption(timeoutOption()),
  )
    .addHelpText(
      'after',
      examples('earshot wait link/west', 'earshot wait listener web api --for Configured --timeout 2m', 'earshot wait --all'),
    )
    .addHelpText(
      'after',
      '\nThe command also waits for resources that do not exist yet. Exit code 3 means that the timeout expired; standard error gives the reason.',
    )
    .action(async (words: readonly string[], options: WaitWords, command: Command) => {
      const { waitFor } = await import('../actions/wait-action.ts');
      await waitFor(await contextOf(command, terminal), words, options);
    });
}
