import { Option, type Command } from 'commander';
import { addWaiting, examples, namespaceOf, namespaceOption, timeoutOption, type WaitOptions } from './options.ts';
import type { Terminal } from '../output/terminal.ts';

/** `earshot apply` and `earshot delete`. */
export function addApply(program: Command, terminal: Terminal): void {
  addWaiting(
    program
      .command('apply')
      .description('put resources into the namespace: new ones are made, others changed')
      .addOption(file())
      .addOption(namespaceOption()),
    'none',
  )
    .addHelpText(
      'after',
      examples('earshot apply -f west.yaml', 'earshot apply -f west/ --wait configured', 'earshot apply -f - < link-to-west.yaml'),
    )
    .action(async ({ filename, ...options }: WaitOptions & { readonly filename: readonly string[] }, command: Command) => {
      const { applyFiles } = await import('../actions/apply-actions.ts');
      await applyFiles(namespaceOf(command), filename, options, terminal);
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
    .action(async ({ filename, ...options }: DeleteOptions & { readonly filename: readonly string[] }, command: Command) => {
      const { deleteFiles } = await import('../actions/apply-actions.ts');
      await deleteFiles(namespaceOf(command), filename, options, terminal);
    });
}

export interface DeleteOptions {
  readonly ignoreNotFound?: boolean;
  readonly wait: boolean;
  readonly timeout: number;
}

function file(): Option {
  return new Option('-f, --filename <path>', 'YAML or JSON file, a directory of them, or - for standard input; may be given again')
    .argParser((path: string, before: readonly string[] | undefined) => [...(before ?? []), path])
    .makeOptionMandatory();
}
