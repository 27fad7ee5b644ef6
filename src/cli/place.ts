/** Which platform a command works on, and where there: pure. */
import { isLabel } from '../text/names.ts';
import { flagsOf } from '../text/command-in.ts';
import { quoted } from '../text/printable.ts';
import { CliError } from './errors.ts';

export const platforms = ['kubernetes', 'linux'] as const;
export type PlatformName = (typeof platforms)[number];

/** What is typed: options of the command, or of the program before it. */
export interface PlaceWords {
  readonly namespace?: string;
  readonly platform?: string;
  readonly context?: string;
  readonly kubeconfig?: string;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** What there is on this machine. */
export interface Findings {
  /** The machine has a directory of that namespace. */
  readonly hasNamespace: boolean;
  /** Kubeconfigs that are there. */
  readonly kubeconfigs: readonly string[];
  /** This is a pod of a cluster. */
  readonly isPod: boolean;
}

export interface Choice {
  readonly platform: PlatformName;
  /** Somebody said so; otherwise it is what was found. */
  readonly isSaid: boolean;
  /** What else was found, and so may be meant. */
  readonly other?: PlatformName;
}

/** What is typed, else what the environment says, else this machine, unless it has no such namespace and there is a way to a cluster. */
export function choosePlatform(words: PlaceWords, environment: Environment, { hasNamespace, kubeconfigs, isPod }: Findings): Choice {
  const said = saidPlatform(words, environment);
  if (said !== undefined) return { platform: said, isSaid: true };
  const hasCluster = kubeconfigs.length > 0 || isPod;
  if (!hasCluster) return { platform: 'linux', isSaid: false };
  return hasNamespace
    ? { platform: 'linux', isSaid: false, other: 'kubernetes' }
    : { platform: 'kubernetes', isSaid: false, other: 'linux' };
}

/** For whoever begins something, and may have meant the other place. @param where `the namespace west of this machine` */
export function placeAdvice({ other }: Choice, where: string): string | undefined {
  if (other === undefined) return undefined;
  const meant = other === 'linux' ? 'a site of this machine' : 'one of the cluster';
  return `This is about ${where}; for ${meant}, add --platform ${other}, or set EARSHOT_PLATFORM.`;
}

/** @throws CliError usage */
export function saidPlatform(words: PlaceWords, environment: Environment): PlatformName | undefined {
  const { platform, context, kubeconfig } = words;
  const ofCluster = context !== undefined || kubeconfig !== undefined;
  if (platform === 'linux' && ofCluster)
    throw new CliError('usage', '--context and --kubeconfig are of clusters: leave out --platform linux.');
  if (platform !== undefined) return platformNamed(platform, '--platform');
  if (ofCluster) return 'kubernetes';
  for (const name of ['EARSHOT_PLATFORM', 'SKUPPER_PLATFORM']) {
    const value = environment[name] ?? '';
    if (value !== '') return platformNamed(value, name);
  }
  // Whoever says where a machine's namespaces are means them.
  return (environment['EARSHOT_HOME'] ?? '') === '' ? undefined : 'linux';
}

function platformNamed(value: string, where: string): PlatformName {
  const found = platforms.find((platform) => platform === value);
  if (found === undefined) throw new CliError('usage', `${where} says ${quoted(value)}; Earshot works on ${platforms.join(' and ')}.`);
  return found;
}

export function machineNamespace({ namespace }: PlaceWords, environment: Environment): string {
  return namespace ?? (environment['EARSHOT_NAMESPACE'] || 'default');
}

/** @param ofContext the namespace that the kubeconfig's context names @throws CliError bad-name */
export function clusterNamespace({ namespace }: PlaceWords, environment: Environment, ofContext: string | undefined): string {
  const found = namespace ?? (environment['EARSHOT_NAMESPACE'] || (ofContext ?? 'default'));
  if (isLabel(found)) return found;
  throw new CliError(
    'bad-name',
    `${quoted(found)} cannot be the name of a namespace; use at most 63 lower-case letters, digits and hyphens.`,
  );
}

/** Options with which a proposed command comes to the same place: what is in the environment stays there. */
export function clusterFlags({ platform, context, kubeconfig, namespace }: PlaceWords): string {
  const given = { '--platform': platform, '--kubeconfig': kubeconfig, '--context': context, '-n': namespace };
  return Object.entries(given)
    .flatMap(([flag, value]) => (value === undefined ? [] : [` ${flag} ${inShell(value)}`]))
    .join('');
}

export function machineFlags({ platform }: PlaceWords, namespace: string): string {
  return `${platform === undefined ? '' : ` --platform ${platform}`}${flagsOf(namespace)}`;
}

function inShell(value: string): string {
  return /^[\w@%+=:,./-]+$/.test(value) ? value : `'${value.replaceAll("'", "'\\''")}'`;
}
