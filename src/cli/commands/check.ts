import { Option, type Command } from 'commander';
import type { CheckOptions } from '../actions/check-actions.ts';
import type { Terminal } from '../output/terminal.ts';
import { failOnOption } from './explain.ts';
import { addPlace, duration, examples, placeWords } from './options.ts';

/** `earshot check`. */
export function addCheck(program: Command, terminal: Terminal): void {
  addPlace(
    program
      .command('check')
      .description('explain all objects of the site, and check its certificates, versions, routing keys and rights')
      .addOption(
        new Option(
          '-f, --filename <path>',
          'check these files instead, before they are applied: a file, a directory, an address or -; may be repeated',
        )
          .argParser((path: string, before: readonly string[] | undefined) => [...(before ?? []), path])
          .conflicts('pre'),
      )
      .option('--pre', 'check whether a site can be installed here instead')
      .option('--short', 'show only what does not work')
      .addOption(failOnOption())
      .addOption(new Option('--wait <duration>', 'try again until nothing fails or waits, at most for this time').argParser(duration))
      .addOption(new Option('-o, --output <format>', 'print in a format for programs').choices(['json', 'yaml', 'junit'])),
  )
    .addHelpText(
      'after',
      examples('earshot check', 'earshot check -f west/ --fail-on warn', 'earshot check --pre', 'earshot check -o junit'),
    )
    .addHelpText('after', '\nExit codes: 0 if nothing fails, 1 for a failure, 3 if something only waits, 6 if nothing runs the site.')
    .action(async (options: CheckOptions, command: Command) => {
      const { check } = await import('../actions/check-actions.ts');
      await check(placeWords(command), terminal, options);
    });
}
