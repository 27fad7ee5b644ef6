import { Option, type Command } from 'commander';
import { addPlace, contextOf, examples, outputOption, watchOption, type WatchOptions } from './options.ts';
import type { Terminal } from '../output/terminal.ts';

/** `earshot status` and `earshot network`. */
export function addOverview(program: Command, terminal: Terminal): void {
  addPlace(
    program
      .command('status')
      .description('show the site, its links, listeners and connectors, and their problems')
      .addOption(
        new Option('--check', 'exit with code 1 if a resource is not Ready, or 6 if nothing runs the site; name it').conflicts('watch'),
      )
      .addOption(watchOption())
      .addOption(outputOption()),
  )
    .addHelpText('after', examples('earshot status', 'earshot -n west status -o json', 'earshot status --check', 'earshot status --watch'))
    .action(async ({ watch, ...options }: WatchOptions & { readonly check?: boolean }, command: Command) => {
      const { showOverview } = await import('../actions/overview-actions.ts');
      const context = await contextOf(command, terminal);
      if (watch !== true) return showOverview(context, options);
      const { watchOutput } = await import('../actions/watching.ts');
      await watchOutput(context, options.output, (shown) => showOverview(shown, options));
    });

  addPlace(
    program
      .command('network')
      .description('show all sites that this site knows, with their links and routing keys')
      .addOption(watchOption())
      .addOption(outputOption()),
  )
    .addHelpText('after', examples('earshot network', 'earshot network -o yaml'))
    .action(async ({ watch, output }: WatchOptions, command: Command) => {
      const { showNetwork } = await import('../actions/overview-actions.ts');
      const context = await contextOf(command, terminal);
      if (watch !== true) return showNetwork(context, output);
      const { watchOutput } = await import('../actions/watching.ts');
      await watchOutput(context, output, (shown) => showNetwork(shown, output));
    });
}
