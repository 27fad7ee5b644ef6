import type { AccessSettings } from '../settings.ts';
import { quoted } from '../../text/printable.ts';

export const ACCESS_TYPES = [
  'local',
  'loadbalancer',
  'nodeport',
  'route',
  'ingress',
  'ingress-nginx',
  'contour-http-proxy',
  'gateway',
] as const;

export type AccessType =
  | { readonly kind: (typeof ACCESS_TYPES)[number] }
  /** Through a Listener of that ListenerClass. */
  | { readonly kind: 'listenerclass'; readonly className: string };

/**
 * An administrator's ListenerClass already decides who may listen outside the cluster, so this type needs no entry in the enabled types.
 */
const BY_CLASS = 'listenerclass:';

/**
 * Resolves the access type.
 * @param asked `accessType` of a resource or `linkAccess` of a Site
 * @param hasRoutes whether the cluster serves OpenShift's Routes
 * @returns a sentence with the cause and the remedy if the type is not available
 */
export function accessTypeOf(
  asked: string | undefined,
  { enabledTypes, defaultType }: Pick<AccessSettings, 'enabledTypes' | 'defaultType'>,
  hasRoutes: boolean,
): AccessType | string {
  const isAny = asked === undefined || asked === '' || asked === 'default';
  const type = isAny ? usualType(enabledTypes, defaultType, hasRoutes) : asked;
  if (type === undefined) return 'unsupported access type: the controller has no types enabled; start it with --enabled-access-types.';
  if (type.startsWith(BY_CLASS) && type !== BY_CLASS) return { kind: 'listenerclass', className: type.slice(BY_CLASS.length) };
  const kind = ACCESS_TYPES.find((each) => each === type);
  if (kind !== undefined && enabledTypes.includes(kind)) return { kind };
  const possible = [...enabledTypes, `${BY_CLASS}NAME`].join(', ');
  return `unsupported access type: ${quoted(type)} is ${kind === undefined ? 'unknown' : 'not enabled here'}; use one of ${possible}.`;
}

function usualType(enabled: readonly string[], defaultType: string, hasRoutes: boolean): string | undefined {
  if (defaultType !== '') return defaultType;
  if (hasRoutes && enabled.includes('route')) return 'route';
  return enabled.includes('loadbalancer') ? 'loadbalancer' : enabled[0];
}
