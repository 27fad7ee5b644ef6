/** Options that several commands share. Every start of the program loads this file, so it imports nothing heavy. */
import { InvalidArgumentError, Option, type Command } from 'commander';
import { parseDuration } from '../../api/skupper/duration.ts';
import type { KubeClient } from '../../kube/contract.ts';
import { isMachine, machineNamespace, platforms, saidPlatform, type MachinePlatform, type PlaceWords } from '../place.ts';
import type { Context, Wait } from '../actions/waiting.ts';
import type { OutputFormat } from '../output/output.ts';
import type { Terminal } from '../output/terminal.ts';

export interface OutputOptions {
  readonly output?: OutputFormat;
}

export interface WatchOptions extends OutputOptions {
  readonly watch?: boolean;
}

export function namespaceOption(): Option {
  return new Option(
    '-n, --namespace <name>',
    'namespace of the site (default: $EARSHOT_NAMESPACE, in a cluster the namespace of the context, or "default")',
  );
}

/** Options that select namespace, platform and cluster of a command. */
export function placeOptions(): readonly Option[] {
  return [
    namespaceOption(),
    new Option('-p, --platform <name>', 'platform of the site (default: $EARSHOT_PLATFORM, $SKUPPER_PLATFORM, or detected)').choices(
      platforms,
    ),
    new Option('-c, --context <name>', 'context of the kubeconfig (default: the current one)'),
    new Option(
      '--kubeconfig <path>',
      'kubeconfig of the cluster (default: $KUBECONFIG, ~/.kube/config, or the service account of the pod)',
    ),
  ];
}

/** Adds the place options to a command. The help of the program lists those for clusters. */
export function addPlace(command: Command): Command {
  for (const option of placeOptions()) command.addOption(option.attributeName() === 'namespace' ? option : option.hideHelp());
  return command;
}

/** The namespace from `-n` at the command or one of its parents, for commands that work on this machine. */
export function namespaceOf(command: Command): string {
  return machineNamespace(placeWords(command), process.env);
}

/** The place options typed at the command or one of its parents. */
export function placeWords(command: Command): PlaceWords {
  const find = (name: keyof PlaceWords): string | undefined => {
    for (let at: Command | null = command; at !== null; at = at.parent) {
      const value = new Map<string, unknown>(Object.entries(at.opts())).get(name);
      if (typeof value === 'string') return value;
    }
    return undefined;
  };
  const words = (['namespace', 'platform', 'context', 'kubeconfig'] as const).map((name) => [name, find(name)] as const);
  return Object.fromEntries(words.filter(([, value]) => value !== undefined));
}

/**
 * Resources and terminal of a command; the modules are loaded when it runs.
 * @param begins see `openResources`
 */
export async function contextOf(command: Command, terminal: Terminal, begins?: true): Promise<Context> {
  const { openResources } = await import('../resources.ts');
  return { resources: await openResources(placeWords(command), begins), terminal };
}

/** Notes which place is used if both this machine and a cluster could be meant. */
export async function sayWhere(command: Command, { resources, terminal }: Context): Promise<void> {
  const [{ platformFor }, { placeAdvice }, { otherUserAdvice }] = await Promise.all([
    import('../resources.ts'),
    import('../place.ts'),
    import('../own-namespace.ts'),
  ]);
  const choice = await platformFor(placeWords(command));
  const advice = placeAdvice(choice, resources.where);
  if (advice !== undefined) terminal.note(`${advice}\n`);
  const other = isMachine(choice.platform) ? await otherUserAdvice(resources.namespace) : undefined;
  if (other !== undefined) terminal.note(`${other}\n`);
}

/**
 * The selected cluster, or undefined for this machine.
 * @throws CliError not-found if the namespace there belongs to another user
 */
export async function clusterOf(
  command: Command,
): Promise<({ readonly client: KubeClient; readonly namespace: string } & AsyncDisposable) | undefined> {
  const { openCluster, platformFor } = await import('../resources.ts');
  const words = placeWords(command);
  if ((await platformFor(words)).platform !== 'kubernetes') {
    const { requireOwnNamespace } = await import('../own-namespace.ts');
    await requireOwnNamespace(namespaceOf(command));
    return undefined;
  }
  const { client, place } = await openCluster(words);
  return { client, namespace: place.namespace, [Symbol.asyncDispose]: () => client[Symbol.asyncDispose]() };
}

/**
 * The namespace of a command that works only on this machine.
 * @throws CliError usage if a cluster is selected
 */
export async function onMachine(command: Command, words: string): Promise<string> {
  const { requireMachine } = await import('../resources.ts');
  await requireMachine(placeWords(command), words);
  return namespaceOf(command);
}

/** The platform of machines that was typed or is in the environment; undefined if it is left to be found. */
export function saidMachine(command: Command): MachinePlatform | undefined {
  // EARSHOT_HOME alone means a machine, and none of its platforms.
  const said = saidPlatform(placeWords(command), { ...process.env, EARSHOT_HOME: '' });
  return said !== undefined && isMachine(said) ? said : undefined;
}

export function outputOption(what = 'print in a format for programs'): Option {
  return new Option('-o, --output <format>', what).choices(['json', 'yaml']);
}

export function watchOption(): Option {
  return new Option('-w, --watch', 'print again after each change, until Ctrl-C');
}

export function timeoutOption(milliseconds = 60_000): Option {
  return new Option('--timeout <duration>', 'time to wait at most').argParser(duration).default(milliseconds, `${milliseconds / 1000}s`);
}

/**
 * `--wait` and `--timeout`.
 * @param usual default of `--wait`
 */
export function waitOptions(usual: Wait, timeout = timeoutOption()): readonly Option[] {
  const about = `status to wait for (default: ${usual} if the site runs)`;
  return [new Option('--wait <status>', about).choices(['none', 'configured', 'ready'] satisfies readonly Wait[]), timeout];
}

export function duration(text: string): number {
  const milliseconds = parseDuration(/^\d+$/.test(text) ? `${text}s` : text);
  if (milliseconds === undefined) throw new InvalidArgumentError('It must be a duration such as 30s or 5m.');
  return milliseconds;
}

/** Validates like `duration`, but returns text for a field of a resource. */
export function durationText(text: string): string {
  duration(text);
  return /^\d+$/.test(text) ? `${text}s` : text;
}

export function positiveInteger(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new InvalidArgumentError('It must be a whole number, at least 1.');
  return Number(text);
}

export const portNumber = (text: string): number => portFrom(0, text);

export const servicePort = (text: string): number => portFrom(1, text);

function portFrom(least: number, text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (!(port >= least && port <= 65_535)) throw new InvalidArgumentError(`It must be a port number from ${least} to 65535.`);
  return port;
}

/** Mentions the command for several names in the help, and in errors such as "too many arguments". */
export function mentionSeveral(command: Command, several: string): Command {
  return command
    .addHelpText('after', `\nFor several names, use \`${several}\`.`)
    .showHelpAfterError(`(for several names, use \`${several}\`; run with --help for the options)`);
}

/** Examples at the end of a command's help. */
export function examples(...lines: readonly string[]): string {
  return `\nExample${lines.filter((line) => !line.startsWith('#')).length > 1 ? 's' : ''}:\n${lines.map((line) => `  ${line}`).join('\n')}`;
}
