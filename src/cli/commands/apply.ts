import { Option, type Command } from 'commander';
import type { DeleteFilesOptions } from '../actions/apply-actions.ts';
import type { WaitOptions } from '../actions/waiting.ts';
import type { Terminal } from '../output/terminal.ts';
import { addPlace, contextOf, examples, onMachine, timeoutOption, waitOptions } from './options.ts';

/** `earshot apply` and `earshot delete`, also below `earshot system`, where Skupper has them for machines. */
export function addApply(group: Command, terminal: Terminal): void {
  const isSystem = group.parent !== null;
  const prefix = isSystem ? 'earshot system' : 'earshot';
  const apply = addPlace(
    group.command('apply').description('create or change resources of the namespace').addOption(file().makeOptionMandatory()),
  );
  for (const option of waitOptions('none')) apply.addOption(option);
  apply
    .addHelpText(
      'after',
      examples(`${prefix} apply -f west.yaml`, `${prefix} apply -f west/ --wait configured`, `${prefix} apply -f - < link-to-west.yaml`),
    )
    .action(async ({ filename, ...options }: WaitOptions & Files, command: Command) => {
      if (isSystem) await onMachine(command, 'system apply');
      const { applyFiles } = await import('../actions/apply-actions.ts');
      await applyFiles(await contextOf(command, terminal), filename, options);
    });

  addPlace(
    group
      .command('delete')
      .description('delete resources of the namespace, by kind and name or by file')
      .argument('[kind]', 'kind of the resources, or KIND/NAME, as in `kubectl delete`')
      .argument('[names...]', 'names of the resources')
      .addOption(file())
      .option('--ignore-not-found', 'ignore resources that do not exist')
      .option('--no-wait', 'do not wait for the end of the deletion')
      .addOption(timeoutOption()),
  )
    .addHelpText(
      'after',
      examples(`${prefix} delete listener web api`, `${prefix} delete link/west listener/web`, `${prefix} delete -f west.yaml`),
    )
    .action(async (kind: string | undefined, names: readonly string[], options: DeleteFilesOptions & Partial<Files>, command: Command) => {
      const { filename, ...how } = options;
      const words = kind === undefined ? [] : [kind, ...names];
      const isNamed = words.length > 1 || kind?.includes('/') === true;
      if (isNamed === (filename !== undefined) || (kind !== undefined && !isNamed)) {
        command.error('error: no resource is named: give a kind and names (listener web or listener/web), or files (-f FILE)');
      }
      if (isSystem) await onMachine(command, 'system delete');
      const context = await contextOf(command, terminal);
      if (filename !== undefined) await (await import('../actions/apply-actions.ts')).deleteFiles(context, filename, how);
      else await (await import('../actions/delete-actions.ts')).deleteNamed(context, words, how);
    });
}

interface Files {
  readonly filename: readonly string[];
}

function file(): Option {
  const about = 'YAML or JSON file, a directory of them, an http or https address, or - for standard input; may be repeated';
  return new Option('-f, --filename <path>', about).argParser((path: string, before: readonly string[] | undefined) => [
    ...(before ?? []),
    path,
  ]);
}
