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

\`earshot COMMAND --help\` shows what stands here. Commands of the connection half work on a *namespace*: one of a cluster, or one of this
machine, see [below](#machines-and-clusters). On a machine it is a directory below
\`/var/lib/earshot/namespaces\` for root and below \`$XDG_DATA_HOME/earshot/namespaces\` (usually
\`~/.local/share/earshot/namespaces\`) for others; \`EARSHOT_HOME\` names another base. \`-n\` or \`EARSHOT_NAMESPACE\` says which
namespace; it may stand before the command or after it.

A command that makes or changes something edits a YAML file below \`input/resources/\` of the namespace, with the comments and the other
documents that are in it, and nothing else: an editor does as well. \`earshot run\` sees it within a second and writes back, below
\`runtime/resources/\`, what has become of it; \`--wait\` waits for that. Where nothing runs the namespace, commands do not wait unless
they are told to. A command right after \`earshot run &\` waits until the site has started.

Without \`sudo\`, a user does not see root's sites. Where root has the namespace and the user has none of that name, commands refuse and say
so, except \`site create\`, which creates a site of the user's own; the same goes for root where the user who typed \`sudo\` has it.
Boolean options take a value too: \`--enable-link-access=false\`.

Results go to standard output, progress and advice to standard error. \`-o json\` and \`-o yaml\` are for programs.

## Machines and clusters

The same commands work on both. Which is meant, the first of these says:

1. \`--platform kubernetes\` or \`--platform linux\`; \`--context\` and \`--kubeconfig\` mean a cluster, too
2. \`EARSHOT_PLATFORM\`, or \`SKUPPER_PLATFORM\`; where \`EARSHOT_HOME\` is set, this machine
3. what is found: this machine where it has a directory of that namespace, or no kubeconfig; else the cluster

\`earshot site create\` says which it is where nobody has said it and both are there.

A cluster is found as kubectl finds it: \`--kubeconfig\`, the files of \`KUBECONFIG\`, \`~/.kube/config\`, or the account of the pod that
the command runs in; \`--context\`, or the current one. The namespace is that of \`-n\`, \`EARSHOT_NAMESPACE\`, or the context.
\`earshot status\` and \`earshot version\` say which cluster it is.

In a cluster commands write resources with the rights of whoever types: those of the role \`edit\` in the namespace, and all on its
\`skupper.io\`, are enough. \`--wait\` watches what becomes of them; where a resource is not in order, it waits until \`--timeout\`, since
pods and Secrets may still come. What differs besides:

| | on a machine | in a cluster |
| --- | --- | --- |
| \`listener create NAME\` without \`--host\` | listens on all IPv4 addresses | makes a Service of that name |
| \`connector create NAME\` without a server | connects to a host of that name | to pods with the label \`app=NAME\`; \`--selector\`, \`--workload\` |
| \`--tls-credentials NAME\` | a directory below \`input/certs\`, also later | a Secret, which must be there |
| \`link generate\` | one Link, with a certificate for it | a Certificate \`link-SITE\`, and a Link \`link-SITE-GROUP\` for each group of routers; deleting the Certificate ends them |
| \`token issue\` | redeemed at the site's addresses | redeemed at the controller |
| \`apply\` of a file that names another namespace | is applied here, with a warning | is refused |
| \`debug dump\` | files, journal and metrics | objects, events and logs of the site's pods and of the controller, as far as one's rights reach |
| \`system\` | | not there |

## Exit codes

| code | meaning |
| --- | --- |
${meanings.map(([code, meaning]) => `| ${code} | ${meaning} |`).join('\n')}

Skupper's command line has two: 1 for what fails or does not come about in time (here 1, 3 and 6), 2 for what is refused beforehand, also since
it is there already or is not there (here 2, 4 and 5). A script that only asks whether a command has done its work needs no change.

On a machine a resource whose status is \`Error\` for three seconds while a command waits for it ends the command with 1; in a cluster one
whose status is \`Error\` at the end of \`--timeout\`.
`.trim();
