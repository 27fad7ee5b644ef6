import type { Command } from 'commander';
import { VERSION } from '../../version.ts';
import { examples, outputOption, type OutputOptions } from './options.ts';
import type { Terminal } from '../output/terminal.ts';

/** `earshot version`. */
export function addVersion(program: Command, terminal: Terminal): void {
  program
    .command('version')
    .description('show the versions of the program and of what it runs on')
    .addOption(outputOption())
    .addHelpText('after', examples('earshot version', 'earshot version -o json'))
    .action(async ({ output }: OutputOptions) => {
      const { fieldLines, structured } = await import('../output/output.ts');
      const versions = { earshot: VERSION, node: process.version, platform: `${process.platform} ${process.arch}` };
      terminal.out(output === undefined ? fieldLines(Object.entries(versions)) : structured(versions, output));
    });
}
