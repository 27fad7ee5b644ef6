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
  /** By a Listener of that class. */
  | { readonly kind: 'listenerclass'; readonly className: string };

/** The Kubernetes type of a Service decides who may listen outside; so does an administrator's ListenerClass, which needs no second word. */
const BY_CLASS = 'listenerclass:';

/**
 * Which access is meant.
 * @param asked a resource's `accessType` or a Site's `linkAccess`
 * @param hasRoutes whether the cluster serves OpenShift's Routes
 * @returns a sentence where there is none: what is wrong, and what to do
 */
export function accessTypeOf(
  asked: string | undefined,
  { enabledTypes, defaultType }: AccessSettings,
  hasRoutes: boolean,
): AccessType | string {
  const isAny = asked === undefined || asked === '' || asked === 'default';
  const type = isAny ? usualType(enabledTypes, defaultType, hasRoutes) : asked;
  if (type === undefined) return 'unsupported access type: the controller has none enabled; start it with --enabled-access-types.';
  if (type.startsWith(BY_CLASS) && type !== BY_CLASS) return { kind: 'listenerclass', className: type.slice(BY_CLASS.length) };
  const kind = ACCESS_TYPES.find((each) => each === type);
  if (kind !== undefined && enabledTypes.includes(kind)) return { kind };
  const possible = [...enabledTypes, `${BY_CLASS}NAME`].join(', ');
  return `unsupported access type: ${quoted(type)} is ${kind === undefined ? 'none' : 'not enabled here'}; use one of ${possible}.`;
}

function usualType(enabled: readonly string[], defaultType: string, hasRoutes: boolean): string | undefined {
  if (defaultType !== '') return defaultType;
  if (hasRoutes && enabled.includes('route')) return 'route';
  return enabled.includes('loadbalancer') ? 'loadbalancer' : enabled[0];
}
