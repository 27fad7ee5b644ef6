/** Derives from the fields of a Site what the site needs in a cluster. */
import { narrowingProblems } from '../../site/plan/narrowing.ts';
import { createHash } from 'node:crypto';
import type { Site } from '../../api/skupper/index.ts';
import { SITE_CA } from '../../api/skupper/cluster-names.ts';
import { letsIn } from '../../site/plan/access.ts';
import { livenessConflict } from '../../site/plan/link-liveness.ts';
import { errorIn, type ResourceProblem } from '../../site/problem.ts';
import { keyOf } from '../../site/resources.ts';
import { shortened } from '../../text/printable.ts';
import type { AccessSettings } from '../settings.ts';

/** Secret of the CA that signs if a resource names no issuer. */
export function defaultIssuerOf({ spec }: Site): string {
  return spec.defaultIssuer === undefined || spec.defaultIssuer === '' ? SITE_CA : spec.defaultIssuer;
}

/** Whether the site has two routers. An edge site has one. */
export function isTwofold({ spec }: Site): boolean {
  return spec.ha === true && spec.edge !== true;
}

/** `none`: no other site can link to this one. `unsupported`: the value is invalid. `by`: the type of its RouterAccess. */
export type LinkAccess = { readonly kind: 'none' | 'unsupported' } | { readonly kind: 'by'; readonly accessType: string };

export function linkAccessOf(site: Site, { enabledTypes }: Pick<AccessSettings, 'enabledTypes'>): LinkAccess {
  const { linkAccess = '', edge } = site.spec;
  if (!letsIn(site) || edge === true) return { kind: 'none' };
  if (linkAccess === 'default') return { kind: 'by', accessType: '' };
  return enabledTypes.includes(linkAccess) || BY_CLASS.test(linkAccess) ? { kind: 'by', accessType: linkAccess } : { kind: 'unsupported' };
}

/** An access type of the exposure half. It is not in the list of enabled types, since each class is a type of its own. */
const BY_CLASS = /^listenerclass:./;

/** Except link access of an edge site: `listAccesses` refuses every access of an edge site in the same way. */
export function specProblems(site: Site, access: Pick<AccessSettings, 'enabledTypes'>): readonly ResourceProblem[] {
  const { edge, ha, linkAccess = '' } = site.spec;
  const problem = (field: string, code: ResourceProblem['code'], message: string) => errorIn(keyOf(site), field, code, message);
  const found: ResourceProblem[] = [];
  if (edge === true && ha === true) {
    found.push(problem('spec.ha', 'bad-argument', 'Edge sites cannot have HA enabled; remove ha or edge; one router runs meanwhile.'));
  }
  if (linkAccessOf(site, access).kind === 'unsupported') {
    const known = ['none', 'default', ...access.enabledTypes, 'listenerclass:NAME'].join(', ');
    const message = `Unsupported value for LinkAccess: ${shortened(linkAccess, 80)}; this controller knows ${known}.`;
    found.push(problem('spec.linkAccess', 'bad-argument', message));
  }
  return [...found, ...livenessConflict(site), ...narrowingProblems(site)];
}

const LEVEL = /^(?:trace|debug|info|warn|error)$/;

/** `router-logging` of a Site, if it is a valid log level. */
export function logLevelOf({ spec }: Site): string | undefined {
  const level = spec.settings?.['router-logging'];
  return level !== undefined && LEVEL.test(level) ? level : undefined;
}

/** Changes with the settings that require a restart of the router. */
export function configDigest({ spec }: Site): string {
  const { 'router-data-connection-count': connections, 'router-logging': logging } = spec.settings ?? {};
  return createHash('sha256')
    .update(JSON.stringify([connections ?? '', logging ?? '']))
    .digest('hex');
}
