import type { Command } from 'commander';
import { addPlace, examples, outputOption, placeWords, type OutputOptions } from './options.ts';
import type { Terminal } from '../output/terminal.ts';

/** `earshot version`, and `earshot manifest` for scripts of Skupper. */
export function addVersion(program: Command, terminal: Terminal): void {
  addPlace(
    program.command('version').description('show the versions of the program, of Node.js and of the platform').addOption(outputOption()),
  )
    .addHelpText('after', examples('earshot version', 'earshot version -o json'))
    .action(async ({ output }: OutputOptions, command: Command) => {
      const { showVersion } = await import('../actions/version-actions.ts');
      await showVersion(placeWords(command), output, terminal);
    });
  program
    .command('manifest', { hidden: true })
    .description('print the images in use, or the program, with their versions')
    .addOption(outputOption())
    .addHelpText('after', examples('earshot manifest', 'earshot manifest -o yaml'))
    .action(async ({ output }: OutputOptions, command: Command) => {
      const { showManifest } = await import('../actions/version-actions.ts');
      await showManifest(placeWords(command), output, terminal);
    });
}
