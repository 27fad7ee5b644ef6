/** Chooses the platform and the place on which a command works. Pure. */
import { isLabel } from '../text/names.ts';
import { flagsOf } from '../text/command-in.ts';
import { quoted } from '../text/printable.ts';
import { shellWord } from '../text/shell-word.ts';
import { CliError } from './errors.ts';

/** Platforms whose sites are directories of this machine. They differ only in how the router's process is run. */
export const machinePlatforms = ['linux', 'podman', 'docker'] as const;
export const platforms = ['kubernetes', ...machinePlatforms] as const;
export type MachinePlatform = (typeof machinePlatforms)[number];
export type PlatformName = (typeof platforms)[number];

export function isMachine(platform: PlatformName): platform is MachinePlatform {
  return platform !== 'kubernetes';
}

/** Options typed at the command or at the program. */
export interface PlaceWords {
  readonly namespace?: string;
  readonly platform?: string;
  readonly context?: string;
  readonly kubeconfig?: string;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** Namespaces and other state found on this machine. */
export interface Findings {
  /** Whether the machine has a directory of that namespace. */
  readonly hasNamespace: boolean;
  /** Existing kubeconfig files. */
  readonly kubeconfigs: readonly string[];
  /** Whether this process runs in a pod. */
  readonly isPod: boolean;
}

export interface Choice {
  readonly platform: PlatformName;
  /** Whether the user chose the platform; otherwise it was detected. */
  readonly isSaid: boolean;
  /** Another platform that was detected and may be meant. */
  readonly other?: PlatformName;
}

/**
 * Uses the typed platform, then that of the environment, then this machine. Without such a namespace here, it uses a reachable
 * cluster.
 */
export function choosePlatform(words: PlaceWords, environment: Environment, { hasNamespace, kubeconfigs, isPod }: Findings): Choice {
  const said = saidPlatform(words, environment);
  if (said !== undefined) return { platform: said, isSaid: true };
  const hasCluster = kubeconfigs.length > 0 || isPod;
  if (!hasCluster) return { platform: 'linux', isSaid: false };
  return hasNamespace
    ? { platform: 'linux', isSaid: false, other: 'kubernetes' }
    : { platform: 'kubernetes', isSaid: false, other: 'linux' };
}

/**
 * Advice when something is created in case the other place was meant.
 * @param where for example `the namespace west of this machine`
 */
export function placeAdvice({ other }: Choice, where: string): string | undefined {
  if (other === undefined) return undefined;
  const meant = other === 'linux' ? 'a site of this machine' : 'a site of the cluster';
  return `The command uses ${where}; for ${meant}, add --platform ${other}, or set EARSHOT_PLATFORM.`;
}

/** @throws CliError usage */
export function saidPlatform(words: PlaceWords, environment: Environment): PlatformName | undefined {
  const { platform, context, kubeconfig } = words;
  const ofCluster = context !== undefined || kubeconfig !== undefined;
  const typed = platform === undefined ? undefined : platformNamed(platform, '--platform');
  if (typed !== undefined && isMachine(typed) && ofCluster)
    throw new CliError('usage', `--context and --kubeconfig select clusters: omit --platform ${typed}.`);
  if (typed !== undefined) return typed;
  if (ofCluster) return 'kubernetes';
  for (const name of ['EARSHOT_PLATFORM', 'SKUPPER_PLATFORM']) {
    const value = environment[name] ?? '';
    if (value !== '') return platformNamed(value, name);
  }
  // EARSHOT_HOME is set only for namespaces of machines.
  return (environment['EARSHOT_HOME'] ?? '') === '' ? undefined : 'linux';
}

function platformNamed(value: string, where: string): PlatformName {
  const found = platforms.find((platform) => platform === value);
  if (found === undefined)
    throw new CliError('usage', `${where} is ${quoted(value)}, which is not a platform; use one of ${platforms.join(', ')}.`);
  return found;
}

export function machineNamespace({ namespace }: PlaceWords, environment: Environment): string {
  return namespace ?? (environment['EARSHOT_NAMESPACE'] || 'default');
}

/**
 * @param ofContext namespace in the kubeconfig's context
 * @throws CliError bad-name
 */
export function clusterNamespace({ namespace }: PlaceWords, environment: Environment, ofContext: string | undefined): string {
  const found = namespace ?? (environment['EARSHOT_NAMESPACE'] || (ofContext ?? 'default'));
  if (isLabel(found)) return found;
  throw new CliError(
    'bad-name',
    `${quoted(found)} cannot be the name of a namespace; use at most 63 lower-case letters, digits and hyphens.`,
  );
}

/** Options with which a suggested command works on the same place. Settings from the environment are not repeated. */
export function clusterFlags({ platform, context, kubeconfig, namespace }: PlaceWords): string {
  const given = { '--platform': platform, '--kubeconfig': kubeconfig, '--context': context, '-n': namespace };
  return Object.entries(given)
    .flatMap(([flag, value]) => (value === undefined ? [] : [` ${flag} ${shellWord(value)}`]))
    .join('');
}

export function machineFlags({ platform }: PlaceWords, namespace: string): string {
  return `${platform === undefined ? '' : ` --platform ${platform}`}${flagsOf(namespace)}`;
}
