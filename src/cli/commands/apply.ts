import { Option, type Command } from 'commander';
import type { DeleteFilesOptions } from '../actions/apply-actions.ts';
import type { WaitOptions } from '../actions/waiting.ts';
import type { Terminal } from '../output/terminal.ts';
import { contextOf, examples, namespaceOption, timeoutOption, waitOptions } from './options.ts';

/** `earshot apply` and `earshot delete`. */
export function addApply(program: Command, terminal: Terminal): void {
  const apply = program
    .command('apply')
    .description('put resources into the namespace: new ones are made, others changed')
    .addOption(file())
    .addOption(namespaceOption());
  for (const option of waitOptions('none')) apply.addOption(option);
  apply
    .addHelpText(
      'after',
      examples('earshot apply -f west.yaml', 'earshot apply -f west/ --wait configured', 'earshot apply -f - < link-to-west.yaml'),
    )
    .action(async ({ filename, ...options }: WaitOptions & Files, command: Command) => {
      const { applyFiles } = await import('../actions/apply-actions.ts');
      await applyFiles(await contextOf(command, terminal), filename, options);
    });

  program
    .command('delete')
    .description('take resources out of the namespace, by their kinds and names')
    .addOption(file())
    .option('--ignore-not-found', 'say nothing of those that are not there')
    .option('--no-wait', 'do not wait until they are gone')
    .addOption(timeoutOption())
    .addOption(namespaceOption())
    .addHelpText('after', examples('earshot delete -f west.yaml'))
    .action(async ({ filename, ...options }: DeleteFilesOptions & Files, command: Command) => {
      const { deleteFiles } = await import('../actions/apply-actions.ts');
      await deleteFiles(await contextOf(command, terminal), filename, options);
    });
}

interface Files {
  readonly filename: readonly string[];
}

function file(): Option {
  return new Option('-f, --filename <path>', 'YAML or JSON file, a directory of them, or - for standard input; may be given again')
    .argParser((path: string, before: readonly string[] | undefined) => [...(before ?? []), path])
    .makeOptionMandatory();
}
