import { Argument, type Command, type Option } from 'commander';
import type { SkupperKind } from '../../api/skupper/index.ts';
import type { PlaceWords } from '../place.ts';
import { examples } from './options.ts';
import type { Terminal } from '../output/terminal.ts';

const shells = ['bash', 'zsh', 'fish'] as const;

/** `earshot completion`, and `earshot complete`, which the printed scripts call. */
export function addCompletion(program: Command, terminal: Terminal): void {
  program
    .command('completion')
    .description('print a script that completes commands, options and names in a shell')
    .addArgument(new Argument('<shell>', 'name of the shell').choices([...shells]))
    .addHelpText(
      'after',
      examples(
        'source <(earshot completion bash)',
        'earshot completion zsh > "${fpath[1]}/_earshot"',
        'earshot completion fish > ~/.config/fish/completions/earshot.fish',
      ),
    )
    .action((shell: (typeof shells)[number]) => terminal.out(completionScripts[shell]));

  program
    .command('complete', { hidden: true })
    .argument('[words...]')
    .action(async (words: readonly string[]) => {
      terminal.out((await candidates(program, words)).map((word) => `${word}\n`).join(''));
    });
}

/** Candidates for the last word. Empty if there is nothing to suggest, or if the shell completes file names. */
export async function candidates(program: Command, words: readonly string[]): Promise<readonly string[]> {
  const current = words.at(-1) ?? '';
  let command = program;
  let pending: Option | undefined;
  const place = new Map<string, string>();
  const before: string[] = [];
  for (const word of words.slice(0, -1)) {
    if (pending !== undefined) {
      place.set(pending.attributeName(), word);
      pending = undefined;
    } else if (word.startsWith('-')) pending = takesNext(command, word);
    else if (command.commands.length === 0) before.push(word);
    else command = command.commands.find((sub) => sub.name() === word) ?? command;
  }
  // Other options do not matter here.
  const typed: PlaceWords = Object.fromEntries(PLACE.flatMap((name) => (place.has(name) ? [[name, place.get(name)]] : [])));
  const found = pending === undefined ? await openWords(command, { current, before }, typed) : await valuesOf(pending, typed);
  return found.filter((word) => word.startsWith(current)).toSorted();
}

/** Returns the option if its value is the next word. */
function takesNext(command: Command, word: string): Option | undefined {
  return command.options.find((option) => (option.short === word || option.long === word) && (option.required || option.optional));
}

const PLACE = ['namespace', 'platform', 'context', 'kubeconfig'] as const;

interface Typed {
  readonly current: string;
  /** Arguments of the command before the current word. */
  readonly before: readonly string[];
}

async function openWords(command: Command, { current, before }: Typed, place: PlaceWords): Promise<readonly string[]> {
  if (current.startsWith('-')) return command.options.filter(({ hidden }) => !hidden).flatMap(({ long }) => long ?? []);
  if (command.commands.length > 0)
    return command
      .createHelp()
      .visibleCommands(command)
      .map((sub) => sub.name());
  const [argument] = command.registeredArguments;
  if (argument?.argChoices !== undefined) return argument.argChoices;
  const of = kinds[command.parent?.name() ?? ''] ?? [];
  if (of.length === 0) return anyKind(command.name(), { current, before }, place);
  if (before.length > 0 || !['update', 'delete', 'status', 'renew'].includes(command.name())) return [];
  const { resourceNames } = await import('./known-names.ts');
  return (await Promise.all(of.map((kind) => resourceNames(kind, place)))).flat();
}

/** Completes `delete KIND NAME…`, `explain KIND NAME`, `wait KIND/NAME…` and `wait KIND NAME…`. */
async function anyKind(command: string, { current, before: [first, ...more] }: Typed, place: PlaceWords): Promise<readonly string[]> {
  if (command !== 'delete' && command !== 'wait' && command !== 'explain') return [];
  const { explainableWords, kindWords, namesOfKind } = await import('./known-names.ts');
  const isPath = command === 'wait' && (first === undefined || first.includes('/'));
  if (isPath && current.includes('/')) {
    const kind = current.slice(0, current.indexOf('/'));
    return (await namesOfKind(kind, place)).map((name) => `${kind}/${name}`);
  }
  if (first === undefined || isPath) return command === 'explain' ? explainableWords() : kindWords(command);
  const typed = new Set(more);
  return (await namesOfKind(first, place)).filter((name) => !typed.has(name));
}

async function valuesOf(option: Option, place: PlaceWords): Promise<readonly string[]> {
  if (option.argChoices !== undefined) return option.argChoices;
  const names = await import('./known-names.ts');
  switch (option.attributeName()) {
    case 'namespace':
      return names.namespaceNames(place);
    case 'tlsCredentials':
      return names.bundleNames(place);
    case 'grant':
      return names.resourceNames('AccessGrant', place);
    case 'context':
      return names.contextNames(place);
    default:
      return [];
  }
}

const kinds: Readonly<Record<string, readonly SkupperKind[]>> = {
  site: ['Site'],
  listener: ['Listener'],
  connector: ['Connector'],
  link: ['Link'],
  token: ['AccessGrant', 'AccessToken'],
};

/** The script that `earshot completion SHELL` prints. */
export const completionScripts: Readonly<Record<(typeof shells)[number], string>> = {
  bash: `_earshot() {
  local IFS=$'\\n'
  COMPREPLY=($(earshot complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _earshot earshot
`,
  zsh: `#compdef earshot
_earshot() {
  local -a found
  found=("\${(@f)$(earshot complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "\${found[1]}" ]]; then compadd -a found; else _files; fi
}
if [[ "\${funcstack[1]}" == _earshot ]]; then _earshot "$@"; else compdef _earshot earshot; fi
`,
  fish: `function __earshot_complete
  set -l words (commandline -opc)
  set -l found (earshot complete -- $words[2..-1] (commandline -ct) 2>/dev/null)
  if test (count $found) -gt 0
    printf '%s\\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c earshot -f -a '(__earshot_complete)'
`,
};
