/** docs/reference/cli.md: what the program itself says of its commands, and what they have in common. */
import type { Command } from 'commander';
import { exitCodes } from '../src/cli/errors.ts';
import { buildProgram } from '../src/cli/program.ts';

export function cliManual(): string {
  const sections = listCommands().map(({ name, help }) => `## ${name}\n\n\`\`\`text\n${help}\n\`\`\``);
  return `${[before, ...sections].join('\n\n')}\n`;
}

/** All commands that help shows, with the text of `earshot COMMAND --help`. */
export function listCommands(): readonly { readonly name: string; readonly help: string }[] {
  let written = '';
  const program = buildProgram({ out: (text) => void (written += text), note: () => {}, input: async () => '' });
  program.configureOutput({ getOutHelpWidth: () => 110, getOutHasColors: () => false });
  return actingCommands(program).map((command) => {
    written = '';
    command.configureOutput({ ...program.configureOutput(), getOutHelpWidth: () => 110, getOutHasColors: () => false }).outputHelp();
    return { name: nameOf(command), help: written.replaceAll(/[ \t]+$/gm, '').trimEnd() };
  });
}

/** Commands without subcommands, and those that act without one, such as `earshot console`: only they have options of their own. */
function actingCommands(command: Command): readonly Command[] {
  const help = command.createHelp();
  const subcommands = help.visibleCommands(command).filter((sub) => sub.name() !== 'help');
  const hasOptions = help.visibleOptions(command).some(({ long }) => long !== '--help');
  const acts = subcommands.length === 0 || (command.parent !== null && hasOptions);
  return [...(acts ? [command] : []), ...subcommands.flatMap(actingCommands)];
}

function nameOf(command: Command): string {
  return command.parent === null ? command.name() : `${nameOf(command.parent)} ${command.name()}`;
}

const meanings: readonly (readonly [code: number, meaning: string])[] = [
  [0, 'done'],
  [exitCodes.failed, 'it failed; standard error says why'],
  [exitCodes.usage, 'the command line or a given resource is invalid; nothing was changed'],
  [exitCodes['not-ready'], 'timed out (`--timeout`); the operation may still complete'],
  [exitCodes['not-found'], 'the named object does not exist'],
  [exitCodes.exists, 'the object to create exists already'],
  [exitCodes['not-running'], 'no process runs the namespace'],
  [exitCodes.interrupted, 'Ctrl-C ended the wait; nothing was undone'],
];

const before = `
<!-- Written by \`npm run generate\` from src/cli and scripts/cli-manual.ts: change it there. -->

# The command line

\`earshot COMMAND --help\` prints these texts. Commands of the connection half work on a *namespace* of a cluster or of this
machine, see [below](#machines-and-clusters). On a machine it is a directory below
\`/var/lib/earshot/namespaces\` for root and below \`$XDG_DATA_HOME/earshot/namespaces\` (usually
\`~/.local/share/earshot/namespaces\`) for others; \`EARSHOT_HOME\` names another base. \`-n\` or \`EARSHOT_NAMESPACE\` says which
namespace; it may stand before the command or after it.

A command that creates or changes something edits a YAML file below \`input/resources/\` of the namespace. It keeps comments and the other
documents in that file. An editor works as well. \`earshot run\` reads the change within a second and writes the result below
\`runtime/resources/\`; \`--wait\` waits for that. If nothing runs the namespace, commands wait only on request. A command right after \`earshot run &\` waits until the site has started.

Without \`sudo\`, a user does not see root's sites. If only root has the namespace, a user's commands refuse and say so. The same holds for
root if only the user of \`sudo\` has it. \`site create\` is the exception: it creates a site of the user's own. Boolean options accept a value: \`--enable-link-access=false\`.

Results go to standard output, progress and advice to standard error. \`-o json\` and \`-o yaml\` are for programs.

## Machines and clusters

The same commands work on both. The first of these that is set selects the platform:

1. \`-p\`, \`--platform\`: \`kubernetes\`, or \`linux\`, \`podman\` or \`docker\` for this machine; \`-c\`, \`--context\` and \`--kubeconfig\` also select a cluster
2. \`EARSHOT_PLATFORM\`, or \`SKUPPER_PLATFORM\`; this machine if \`EARSHOT_HOME\` is set
3. detection: this machine if it has a directory of that namespace, or no kubeconfig; otherwise the cluster

If nothing is set and both are available, \`earshot site create\` says which one it uses.

A cluster is found as kubectl finds it: \`--kubeconfig\`, the files of \`KUBECONFIG\`, \`~/.kube/config\`, or the account of the pod in
which the command runs. The context is \`--context\`, or the current one. The namespace is that of \`-n\`, \`EARSHOT_NAMESPACE\`, or the context.
\`earshot status\` and \`earshot version\` say which cluster it is.

In a cluster commands write resources with the user's rights. Those of the role \`edit\` in the namespace, and all on its
\`skupper.io\`, are enough. \`--wait\` watches the resources. It waits until \`--timeout\` for one in error, since pods and Secrets may still
appear. Other differences:

| | on a machine | in a cluster |
| --- | --- | --- |
| \`listener create NAME\` without \`--host\` | listens on all IPv4 addresses | creates a Service of that name |
| \`connector create NAME\` without a server | connects to \`localhost\` | to pods with the label \`app=NAME\`; \`--selector\`, \`--workload\` |
| \`--tls-credentials NAME\` | a directory below \`input/certs\`, also later | a Secret, which must exist |
| \`link generate\` | one Link, with a certificate for it | a Certificate \`link-SITE\`, and a Link \`link-SITE-GROUP\` for each group of routers; deleting the Certificate ends them |
| \`token issue\` | redeemed at the site's addresses | redeemed at the controller |
| \`apply\` of a file that names another namespace | is applied here, with a warning | is refused |
| \`debug dump\` | files, journal and metrics | objects, certificates' dates, events, logs of the site's pods and of the controller, and each router's metrics, as far as your rights allow |
| \`system\` | | not available |

## Exit codes

| code | meaning |
| --- | --- |
${meanings.map(([code, meaning]) => `| ${code} | ${meaning} |`).join('\n')}

Skupper's command line has two exit codes for failures. 1 means that a command failed or timed out (here 1, 3 and 6). 2 means that it was refused
beforehand, also because an object exists already or is missing (here 2, 4 and 5). Scripts that only check for success need no change.

On a machine, a waiting command ends with 1 when its resource has been in status \`Error\` for three seconds. In a cluster it does so when the
status is \`Error\` at the end of \`--timeout\`.
`.trim();
