import type { Command } from 'commander';
import { addPlace, examples, placeWords } from './options.ts';
import type { Terminal } from '../output/terminal.ts';

/** `earshot debug`. */
export function addDebug(program: Command, terminal: Terminal): void {
  addPlace(
    program
      .command('debug')
      .description('for reports of what went wrong')
      .command('dump')
      .description('write one archive with resources, statuses, metrics, logs and versions, and no key, code or token')
      .argument('<file>', 'archive to write, .tar.gz'),
  )
    .addHelpText('after', examples('earshot -n west debug dump west.tar.gz'))
    .addHelpText('after', '\nNames, hosts and routing keys are in it: look through it before you hand it on.')
    .action(async (file: string, _options: object, command: Command) => {
      const { dump } = await import('../actions/debug-actions.ts');
      await dump(placeWords(command), file, terminal);
    });
}
