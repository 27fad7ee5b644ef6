/** The subcommands that are alike for every kind. What they do is loaded when they are run. */
import type { Command } from 'commander';
import type { SkupperKind } from '../../api/skupper/index.ts';
import { contextOf, examples, namespaceOption, outputOption, timeoutOption, type OutputOptions } from './options.ts';
import type { Target } from '../actions/resource-actions.ts';
import type { Terminal } from '../output/terminal.ts';

export interface ResourceCommand<K extends SkupperKind = SkupperKind> {
  /** `earshot listener`, to which subcommands are added. */
  readonly group: Command;
  readonly kind: K;
  readonly terminal: Terminal;
}

export async function targetOf({ kind, terminal }: ResourceCommand, command: Command): Promise<Target> {
  return { kind, ...(await contextOf(command, terminal)) };
}

/** A subcommand with `-n` and examples. */
export function subcommand(
  { group }: Pick<ResourceCommand, 'group'>,
  name: string,
  description: string,
  ...lines: readonly string[]
): Command {
  return group
    .command(name)
    .description(description)
    .addOption(namespaceOption())
    .addHelpText('after', examples(...lines));
}

export function addDelete(of: ResourceCommand, description: string, example: string, about = 'name of the resource'): void {
  subcommand(of, 'delete', description, example)
    .argument('<name>', about)
    .option('--no-wait', 'do not wait until it is gone')
    .addOption(timeoutOption())
    .action(async (name: string, options: { readonly wait: boolean; readonly timeout: number }, command: Command) => {
      const { deleteResource } = await import('../actions/resource-actions.ts');
      await deleteResource(await targetOf(of, command), name, options);
    });
}

export function addStatus(of: ResourceCommand, description: string, ...lines: readonly string[]): void {
  subcommand(of, 'status', description, ...lines)
    .argument('[name]', 'name of the resource; left out: all')
    .addOption(outputOption())
    .action(async (name: string | undefined, { output }: OutputOptions, command: Command) => {
      const { showStatus } = await import('../actions/resource-actions.ts');
      await showStatus(await targetOf(of, command), name, output);
    });
}
