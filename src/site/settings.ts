/** `spec.settings` of all kinds: this table contains every setting that has an effect. */
import { parseDuration } from '../api/skupper/duration.ts';
import { isRouterCount, ROUTER_COUNT } from '../api/skupper/router-count.ts';
import { didYouMean } from '../text/nearest.ts';
import { quoted } from '../text/printable.ts';
import { warningIn, type ResourceProblem } from './problem.ts';
import type { FigureSharing } from '../router/contract.ts';
import { keyOf, type Kind, type SiteObject } from './resources.ts';

interface Setting {
  /** Platform that it is for; undefined for both. */
  readonly on?: PlatformKind;
  /** Valid values, for a message; undefined if any text is valid or another rule checks it. */
  readonly desired?: string;
  readonly isValid?: (text: string) => boolean;
  /** Effect of an invalid value, for a message; undefined if the default applies. */
  readonly otherwise?: string;
}

export type PlatformKind = 'kubernetes' | 'machine';

export const SETTING = {
  priorRevisions: 'tls-prior-valid-revisions',
  unmarked: 'unmarked-certificates',
  linkLifetime: 'link-certificate-lifetime',
  suspectAfter: 'link-suspect-after',
  deadAfter: 'link-dead-after',
  grantPort: 'grant-port',
  routers: 'routers',
  observer: 'observer',
  observe: 'observe',
  requestPaths: 'request-paths',
  probe: 'probe',
  networks: 'networks',
  network: 'network',
  proxy: 'proxy-configuration',
} as const;

/** Limits of a link's silence in milliseconds. Below the minimum, pings are too rare to distinguish silence from an idle link. */
const [LEAST_SILENCE, MOST_SILENCE] = [500, 3_600_000];
const SILENCE_WANTED = 'a duration from 500ms to 1h, such as 10s or 1m30s';

const sharings = ['site', 'network', 'none'] as const satisfies readonly FigureSharing[];

const any: Setting = {};
const onKubernetes: Setting = { on: 'kubernetes' };
/** Values of the settings of networks are checked by `networks.ts`. */
const onMachines: Setting = { on: 'machine' };

const ofListeners: Readonly<Record<string, Setting>> = {
  [SETTING.observer]: oneOf('auto', 'none', 'http1', 'http2'),
  [SETTING.requestPaths]: oneOf('true', 'false'),
  [SETTING.network]: onMachines,
};

const settingsOf: { readonly [K in Kind]?: Readonly<Record<string, Setting>> } = {
  Site: {
    [SETTING.priorRevisions]: { desired: 'a whole number of earlier certificates', isValid: isCount },
    [SETTING.unmarked]: oneOf('allow', 'refuse'),
    [SETTING.linkLifetime]: { desired: 'a duration of at least 10s, such as 720h', isValid: isLifetime },
    [SETTING.suspectAfter]: { desired: SILENCE_WANTED, isValid: (text) => silenceIn(text) !== undefined },
    [SETTING.deadAfter]: { desired: SILENCE_WANTED, isValid: (text) => silenceIn(text) !== undefined },
    [SETTING.observe]: oneOf(...sharings),
    [SETTING.networks]: onMachines,
    [SETTING.routers]: {
      on: 'machine',
      desired: ROUTER_COUNT,
      isValid: isRouterCount,
      otherwise: 'it does not change the number of routers',
    },
    [SETTING.grantPort]: { on: 'machine', desired: 'a port, 0 to 65535', isValid: isPortOrZero },
    size: onKubernetes,
    ingressClassName: onKubernetes,
    'router-logging': { on: 'kubernetes', ...oneOf('trace', 'debug', 'info', 'warn', 'error') },
    'router-data-connection-count': { on: 'kubernetes', desired: 'a whole number', isValid: isCount },
    'disable-anti-affinity': { on: 'kubernetes', ...oneOf('true', 'false') },
  },
  Listener: ofListeners,
  MultiKeyListener: ofListeners,
  Connector: { [SETTING.probe]: oneOf('auto', 'none'), [SETTING.network]: onMachines },
  Link: { [SETTING.proxy]: any },
  RouterAccess: { domain: onKubernetes, ingressClassName: onKubernetes },
  SecuredAccess: { domain: onKubernetes, ingressClassName: onKubernetes },
  // Their values are checked when certificates are issued.
  Certificate: { purpose: any, lifetime: onKubernetes },
  AccessToken: { 'other-urls': any },
};

/** Value of a setting, if given. Names are untrusted, so inherited properties do not count. */
export function settingOf({ spec }: Pick<SiteObject, 'spec'>, name: string): string | undefined {
  const { settings } = spec;
  return settings != null && Object.hasOwn(settings, name) ? settings[name] : undefined;
}

/** Settings without effect: unknown names and unusable values. The rest of the object works. */
export function settingProblems(object: SiteObject, platform: PlatformKind): readonly ResourceProblem[] {
  const known = settingsOf[object.kind] ?? {};
  return Object.entries(object.spec.settings ?? {}).flatMap(([name, value]) => {
    const setting = Object.hasOwn(known, name) ? known[name] : undefined;
    const why = whyWithoutEffect(name, value, setting, Object.keys(known), platform);
    return why === undefined ? [] : [warningIn(keyOf(object), `spec.settings.${name}`, 'setting', why)];
  });
}

function whyWithoutEffect(
  name: string,
  value: string,
  setting: Setting | undefined,
  known: readonly string[],
  platform: PlatformKind,
): string | undefined {
  if (setting === undefined) {
    const advice = didYouMean(name, known);
    if (advice !== '') return `is unknown and has no effect${advice}`;
    return `is unknown and has no effect; ${known.length === 0 ? 'this kind has no settings' : `known settings are ${known.join(', ')}`}`;
  }
  if (setting.on !== undefined && setting.on !== platform) {
    return `has no effect ${platform === 'machine' ? 'without a cluster' : 'on Kubernetes'}; remove it.`;
  }
  if (setting.isValid === undefined || setting.isValid(value)) return undefined;
  return `${quoted(value)} is not ${setting.desired ?? 'usable'}, so ${setting.otherwise ?? 'the default applies'}.`;
}

function oneOf(...words: readonly string[]): Setting {
  return { desired: `one of ${words.join(', ')}`, isValid: (text) => words.includes(text) };
}

export function isCount(text: string): boolean {
  return /^\d{1,9}$/.test(text);
}

export function isPortOrZero(text: string): boolean {
  return /^\d{1,5}$/.test(text) && Number(text) <= 65_535;
}

/** @returns undefined if the text is not valid */
export function sharingIn(text: string | undefined): FigureSharing | undefined {
  return sharings.find((sharing) => sharing === text);
}

/** @returns milliseconds; undefined if the text is not a valid silence of a link */
export function silenceIn(text: string | undefined): number | undefined {
  const milliseconds = text === undefined ? undefined : parseDuration(text);
  return milliseconds !== undefined && milliseconds >= LEAST_SILENCE && milliseconds <= MOST_SILENCE ? milliseconds : undefined;
}

/** Whether it is a valid lifetime of a link's certificate. */
export function isLifetime(text: string): boolean {
  const milliseconds = parseDuration(text);
  return milliseconds !== undefined && milliseconds >= 10_000;
}
