import type { Command } from 'commander';
import { addPlace, contextOf, examples, outputOption, type OutputOptions } from './options.ts';
import type { Terminal } from '../output/terminal.ts';

/** `earshot status` and `earshot network`. */
export function addOverview(program: Command, terminal: Terminal): void {
  addPlace(
    program
      .command('status')
      .description('show the site, its links, listeners and connectors, and what is wrong')
      .addOption(outputOption()),
  )
    .addHelpText('after', examples('earshot status', 'earshot -n west status -o json'))
    .action(async ({ output }: OutputOptions, command: Command) => {
      const { showOverview } = await import('../actions/overview-actions.ts');
      await showOverview(await contextOf(command, terminal), output);
    });

  addPlace(
    program
      .command('network')
      .description('show all sites, their links and routing keys, as this site sees them')
      .addOption(outputOption()),
  )
    .addHelpText('after', examples('earshot network', 'earshot network -o yaml'))
    .action(async ({ output }: OutputOptions, command: Command) => {
      const { showNetwork } = await import('../actions/overview-actions.ts');
      await showNetwork(await contextOf(command, terminal), output);
    });
}
