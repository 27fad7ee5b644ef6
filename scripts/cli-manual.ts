/** docs/reference/cli.md: what the program itself says of its commands, and what they have in common. */
import type { Command } from 'commander';
import { exitCodes } from '../src/cli/errors.ts';
import { buildProgram } from '../src/cli/program.ts';

export function cliManual(): string {
  let written = '';
  const program = buildProgram({ out: (text) => void (written += text), note: () => {}, input: async () => '' });
  program.configureOutput({ getOutHelpWidth: () => 110, getOutHasColors: () => false });
  const helpOf = (command: Command): string => {
    written = '';
    command.configureOutput({ ...program.configureOutput(), getOutHelpWidth: () => 110, getOutHasColors: () => false }).outputHelp();
    return written.replaceAll(/[ \t]+$/gm, '').trimEnd();
  };
  const sections = leavesOf(program).map((command) => `## ${nameOf(command)}\n\n\`\`\`text\n${helpOf(command)}\n\`\`\``);
  return `${[before, ...sections].join('\n\n')}\n`;
}

function leavesOf(command: Command): readonly Command[] {
  const subcommands = command
    .createHelp()
    .visibleCommands(command)
    .filter((sub) => sub.name() !== 'help');
  return subcommands.length === 0 ? [command] : subcommands.flatMap(leavesOf);
}

function nameOf(command: Command): string {
  return command.parent === null ? command.name() : `${nameOf(command.parent)} ${command.name()}`;
}

const meanings: readonly (readonly [code: number, meaning: string])[] = [
  [0, 'done'],
  [exitCodes.failed, 'it failed; standard error says why'],
  [exitCodes.usage, 'what was typed, or a resource that was given, is wrong; nothing was changed'],
  [exitCodes['not-ready'], 'what was waited for did not come about within `--timeout`; it may still'],
  [exitCodes['not-found'], 'what was named is not there'],
  [exitCodes.exists, 'what was to be made is there already'],
  [exitCodes['not-running'], 'no process runs the namespace'],
];

const before = `
<!-- Written by \`npm run generate\` from src/cli and scripts/cli-manual.ts: change it there. -->

# The command line

\`earshot COMMAND --help\` shows what stands here. Commands of the connection half work on a *namespace*, a directory below
\`/var/lib/earshot/namespaces\` for root and below \`$XDG_DATA_HOME/earshot/namespaces\` (usually
\`~/.local/share/earshot/namespaces\`) for others; \`EARSHOT_HOME\` names another base. \`-n\` or \`EARSHOT_NAMESPACE\` says which
namespace; it may stand before the command or after it.

A command that makes or changes something edits a YAML file below \`input/resources/\` of the namespace, with the comments and the other
documents that are in it, and nothing else: an editor does as well. \`earshot run\` sees it within a second and writes back, below
\`runtime/resources/\`, what has become of it; \`--wait\` waits for that. Where nothing runs the namespace, commands do not wait unless
they are told to.

Results go to standard output, progress and advice to standard error. \`-o json\` and \`-o yaml\` are for programs.

## Exit codes

| code | meaning |
| --- | --- |
${meanings.map(([code, meaning]) => `| ${code} | ${meaning} |`).join('\n')}

A resource whose status is \`Error\` for three seconds while a command waits for it ends the command with 1.
`.trim();
