/** Builds the commands of one kind, such as `earshot listener create`, from a table. Their actions are loaded when they run. */
import { Argument, Option, type Command } from 'commander';
import type { SkupperKind } from '../../api/skupper/index.ts';
import type { DeleteOptions, SpecChange, Target } from '../actions/resource-actions.ts';
import type { Wait, WaitOptions } from '../actions/waiting.ts';
import type { Resources, PlatformConventions } from '../../platform/resources.ts';
import type { OutputFormat } from '../output/output.ts';
import type { Terminal } from '../output/terminal.ts';
import {
  addPlace,
  contextOf,
  examples,
  mentionSeveral,
  sayWhere,
  outputOption,
  placeWords,
  timeoutOption,
  waitOptions,
  watchOption,
  type WatchOptions,
} from './options.ts';

/** Help of a command. */
interface Row {
  readonly description: string;
  readonly examples: readonly string[];
  /** Remark below the examples. */
  readonly remark?: string;
  /** Positional arguments: a name, then fields of the spec. Default: `<name>`. */
  readonly arguments?: readonly Argument[];
  /** Options listed before those that the command has for every kind. */
  readonly options?: readonly Option[];
}

/** One command. */
export interface Verb extends Row {
  readonly name: string;
  /** Command that takes several names, if this one takes one. */
  several?(kind: string): string;
  /** Runs the command. `words` are the values of `arguments`. */
  run(at: At, options: object, name: string | undefined, ...words: readonly unknown[]): Promise<void>;
}

interface At {
  readonly kind: SkupperKind;
  readonly command: Command;
  readonly terminal: Terminal;
}

export function resourceCommands(program: Command, terminal: Terminal, kind: SkupperKind, about: string, verbs: readonly Verb[]): void {
  const group = program.command(kind.toLowerCase()).description(about);
  for (const verb of verbs) {
    const command = addPlace(group.command(verb.name).description(verb.description)).addHelpText('after', examples(...verb.examples));
    if (verb.remark !== undefined) command.addHelpText('after', `\n${verb.remark}`);
    const several = verb.several?.(group.name());
    if (several !== undefined) mentionSeveral(command, several);
    for (const argument of verb.arguments ?? [new Argument('<name>', 'name of the resource')]) command.addArgument(argument);
    for (const option of verb.options ?? []) command.addOption(option);
    command.action((...given: readonly unknown[]) => {
      const [name, ...words] = given.slice(0, -2);
      return verb.run({ kind, command, terminal }, command.opts(), name === undefined ? undefined : String(name), ...words);
    });
  }
}

export async function targetOf({ kind, command, terminal }: At, begins?: true): Promise<Target> {
  return { kind, ...(await contextOf(command, terminal, begins)) };
}

/** A command whose arguments and options map to fields of the spec by name. */
interface SpecRow extends Row {
  /** Builds the spec if arguments and options do not map to it directly. */
  spec?(fields: SpecChange, name: string, conventions: PlatformConventions): SpecChange;
  /** Resolves fields that depend on existing resources. Ends the command if its options are not valid together. */
  resolve?(command: Command, fields: SpecChange, open: () => Promise<Resources>): Promise<SpecChange>;
}

interface WriteRow extends SpecRow {
  /** Default state to wait for. */
  readonly wait: Wait;
  /** Default of `--timeout` if it depends on the platform. */
  readonly within?: { readonly text: string; of(conventions: PlatformConventions): number };
  /** Replaces the default action of the verb. */
  action?(): Promise<Write>;
  /** Whether to note where the command works, because it starts something there. */
  readonly saysWhere?: true;
  /** Text about a default that was assumed because no option was given. */
  assumed?(fields: SpecChange, name: string, conventions: PlatformConventions): string | undefined;
}

type Write = (target: Target, name: string, change: SpecChange, usual: Wait, options: WaitOptions) => Promise<void>;
type Delete = (target: Target, name: string, options: DeleteOptions) => Promise<void>;

export function createVerb(row: WriteRow): Verb {
  return writeVerb('create', { action: async () => (await import('../actions/resource-actions.ts')).createResource, ...row });
}

export function updateVerb(row: WriteRow): Verb {
  return writeVerb('update', { action: async () => (await import('../actions/resource-actions.ts')).updateResource, ...row });
}

function writeVerb(verb: string, row: WriteRow & Required<Pick<WriteRow, 'action'>>): Verb {
  return {
    ...row,
    name: verb,
    options: [...(row.options ?? []), ...waitOptions(row.wait, timeoutFor(row))],
    run: async (at, given: Partial<WaitOptions>, name: string, ...words) => {
      const target = await targetOf(at, row.saysWhere);
      if (row.saysWhere === true) await sayWhere(at.command, target);
      const { conventions } = target.resources;
      const typed = fieldsOf(row, words, given);
      const fields = (await row.resolve?.(at.command, typed, () => Promise.resolve(target.resources))) ?? typed;
      const write = await row.action();
      const options = { ...given, timeout: given.timeout ?? row.within?.of(conventions) ?? 0 };
      await write(target, name, row.spec?.(fields, name, conventions) ?? fields, row.wait, options);
      const assumed = row.assumed?.(fields, name, conventions);
      if (assumed !== undefined) target.terminal.note(`${assumed}\n`);
    },
  };
}

/** `--timeout` whose default is known once the platform is. */
function timeoutFor({ within }: WriteRow): Option {
  if (within === undefined) return timeoutOption();
  const option = timeoutOption().default(undefined);
  option.description += `; left out: ${within.text}`;
  return option;
}

export function deleteVerb(row: Row & { action?(): Promise<Delete> }): Verb {
  const { action = async () => (await import('../actions/resource-actions.ts')).deleteResource } = row;
  return {
    ...row,
    name: 'delete',
    // A namespace has one site.
    ...((row.arguments?.[0]?.required ?? true) ? { several: (kind) => `earshot delete ${kind} NAME...` } : {}),
    options: [...(row.options ?? []), new Option('--no-wait', 'do not wait for the end of the deletion'), timeoutOption()],
    run: async (at, options: DeleteOptions, name: string) => (await action())(await targetOf(at), name, options),
  };
}

type Show = (target: Target, name: string | undefined, output: OutputFormat | undefined) => Promise<void>;

/** @param show replaces the default action */
export function statusVerb(description: string, lines: readonly string[], show?: () => Promise<Show>): Verb {
  const load = show ?? (async () => (await import('../actions/resource-actions.ts')).showStatus);
  return {
    name: 'status',
    description,
    examples: lines,
    arguments: [new Argument('[name]', 'name of the resource (default: all)')],
    options: [watchOption(), outputOption()],
    run: async (at, { watch, output }: WatchOptions, name) => {
      const [target, shows] = await Promise.all([targetOf(at), load()]);
      if (watch !== true) return shows(target, name, output);
      const { watchOutput } = await import('../actions/watching.ts');
      await watchOutput(target, output, (shown) => shows(shown, name, output));
    },
  };
}

export function generateVerb(row: SpecRow): Verb {
  return {
    ...row,
    name: 'generate',
    options: [...(row.options ?? []), outputOption('format').default('yaml')],
    run: async (at, options: { readonly output: OutputFormat }, name: string, ...words) => {
      const { kind, command, terminal } = at;
      const { generateResource } = await import('../actions/resource-actions.ts');
      const typed = fieldsOf(row, words, options);
      const fields = (await row.resolve?.(command, typed, async () => (await targetOf(at)).resources)) ?? typed;
      // The platform decides defaults; the cluster itself is not asked.
      const conventions = await (await import('../resources.ts')).conventionsFor(placeWords(command));
      generateResource(terminal, kind, name, row.spec?.(fields, name, conventions) ?? fields, options.output);
    },
  };
}

function fieldsOf({ arguments: [, ...declared] = [], options: flags = [] }: Row, words: readonly unknown[], options: object): SpecChange {
  const given = new Map(Object.entries(options));
  return Object.fromEntries(
    [
      ...declared.map((argument, index) => [argument.name(), words[index]] as const),
      ...flags.map((flag) => [flag.attributeName(), given.get(flag.attributeName())] as const),
    ].filter(([, value]) => value !== undefined),
  );
}
