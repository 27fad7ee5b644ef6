import type { Command } from 'commander';
import { addPlace, examples, placeWords } from './options.ts';
import type { Terminal } from '../output/terminal.ts';

/** `earshot debug`. */
export function addDebug(program: Command, terminal: Terminal): void {
  addPlace(
    program
      .command('debug')
      .description('collect information about problems')
      .command('dump')
      .description('write an archive with resources, statuses, metrics, logs and versions, but without keys, codes and tokens')
      .argument('[file]', 'path of the archive (default: skupper-dump); namespace and time follow a name without extension'),
  )
    .addHelpText('after', examples('earshot -n west debug dump west.tar.gz'))
    .addHelpText('after', '\nIt contains names, hosts and routing keys: review it before you share it.')
    .action(async (file: string | undefined, _options: object, command: Command) => {
      const { dump } = await import('../actions/debug-actions.ts');
      await dump(placeWords(command), file, terminal);
    });
}
