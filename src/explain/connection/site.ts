import type { RouterAccess, SecuredAccess, Site } from '../../api/skupper/index.ts';
import { modules } from '../../errors/catalogue.ts';
import { isConditionCode } from '../../errors/problem.ts';
import { shellWord } from '../../text/shell-word.ts';
import { commandIn } from '../../text/command-in.ts';
import { hostPort } from '../../text/host-port.ts';
import { shownValue } from '../../text/printable.ts';
import { timeText } from '../../site/observe/time-text.ts';
import { bundleStep, datesStep } from './bundle-steps.ts';
import { BUNDLE_CODES, NETWORK_CODES, PORT_CODES, SITE_CODES } from './code-groups.ts';
import { headRungs, stepPrefix, type Subject } from './head.ts';
import { endedSteps } from './reach-steps.ts';
import type { Rung } from './rungs.ts';
import { valueOf, type OpenFiles, type SiteFacts } from './site-facts.ts';
import { adviceOn } from './object-problem.ts';
import type { Step } from '../step.ts';

/** Steps of a Site: its keys, its ports, and the links of others to it. */
export function siteRungs(facts: SiteFacts, subject: Subject, site: Site): readonly Rung[] {
  const endpoints = site.status?.endpoints ?? [];
  return [
    ...headRungs(facts, subject),
    { id: 'site.active', codes: SITE_CODES, passes: 'the only Site of its namespace' },
    {
      id: 'site.authority',
      codes: Object.keys(modules.trust)
        .filter(isConditionCode)
        .filter((code) => code.startsWith('authority-')),
      passes: 'usable',
      refine: (step) => authorityStep(step, facts),
    },
    { id: 'site.tls', codes: BUNDLE_CODES, condition: 'Configured', passes: 'usable' },
    { id: 'site.networks', codes: NETWORK_CODES },
    {
      id: 'site.ports',
      codes: [...PORT_CODES, 'host-not-local', 'name-unknown', 'no-access'],
      condition: 'Running',
      passes: endpoints.length === 0 ? 'none for links' : addressesOf(endpoints),
    },
    {
      id: 'site.endpoints',
      codes: ['no-endpoints'],
      condition: 'Resolved',
      passes: endpoints.length === 0 ? '' : 'announced to other sites',
    },
    { id: 'site.files', codes: [], independent: true, passes: 'enough', refine: (step) => filesSteps(step, facts) },
    { id: 'site.delay', codes: [], independent: true, refine: (step) => delaySteps(step, facts) },
    { id: 'site.copies', codes: [], independent: true, refine: (step) => copySteps(step, facts) },
    { id: 'site.links', codes: [], passes: 'up', refine: (step) => [...linkSteps(step, facts), ...incomingSteps(step, facts)] },
  ];
}

function addressesOf(endpoints: readonly { readonly host?: string; readonly port?: string }[]): string {
  return endpoints.map(({ host = '', port = '' }) => hostPort({ host: shownValue(host), port })).join(', ');
}

/** Each connection needs one or two open files. At the limit, a router refuses new ones. */
function filesSteps(step: Step, { openFiles = [] }: SiteFacts): readonly Step[] {
  const text = ({ router, used, most }: OpenFiles): string => `${shownValue(router)} ${used} of ${most} open`;
  const full = openFiles.filter(({ used, most }) => used > most * NEARLY_FULL);
  const { id, object } = step;
  if (full.length > 0)
    return full.map((each) => ({ id, object, ...adviceOn('busy'), state: 'warn', says: text(each), facts: { ...each } }));
  return [{ id, object, state: 'pass', says: openFiles.map(text).join(', ') }];
}

/** Part of the limit of open files that needs attention. */
const NEARLY_FULL = 0.8;

/** Data that arrives at a router waits for its event loop. */
function delaySteps({ id, object }: Step, { routers = [], now }: SiteFacts): readonly Step[] {
  const measured = routers.flatMap(({ router, startedAt, eventLoopDelay: ms }) => (ms === undefined ? [] : [{ router, startedAt, ms }]));
  const slow = measured.filter(({ ms, startedAt }) => ms >= NOTICEABLE && now - startedAt >= WARM_UP);
  if (slow.length > 0)
    return slow.map(({ router, ms }) => ({
      id,
      object,
      state: 'warn',
      says: `the event loop of router ${shownValue(router)} is ${Math.round(ms)} ms late (p99): data of its connections waits as long`,
      do: 'Give it more CPU time, or stop what else uses the CPU there.',
      ms,
    }));
  const most = Math.max(...measured.map(({ ms }) => ms));
  return [{ id, object, state: 'pass', says: measured.length === 0 ? '' : `event loop at most ${Math.round(most)} ms late` }];
}

/** Milliseconds. From about a tenth of a second, users notice that a program waits. */
const NOTICEABLE = 100;
/** Milliseconds in which a router that has just started compiles its code, and is late. */
const WARM_UP = 60_000;

/** A copy of the site's directory has the same key, so others take both for one site: each gets a part of the connections. */
function copySteps({ id, object }: Step, { routers = [], now }: SiteFacts): readonly Step[] {
  return routers.flatMap(({ router, contested: { count, last } = { count: 0, last: 0 } }): readonly Step[] => {
    // A clock that was set back looks like one announcement of a copy.
    if (count < 2 || now - last > COPY_SEEN) return [];
    const says = `a copy of this site runs elsewhere: it announced router ${shownValue(router)} with this site's ID at ${timeText(last)}`;
    return [{ id, object, state: 'fail', says, do: 'Stop the copy, and create it as a new site.', since: timeText(last) }];
  });
}

/** Milliseconds. Copies that are connected announce themselves every few seconds. */
const COPY_SEEN = 300_000;

/** The authority that signs for the site. */
function authorityStep(step: Step, facts: SiteFacts): Step {
  if (step.state !== 'pass') return step;
  if ('unknown' in facts.bundles) return { ...step, state: 'unknown', says: facts.bundles.unknown };
  const dated = facts.bundles.value.filter(({ isAuthority }) => isAuthority).map((bundle) => datesStep(step, bundle, facts.now));
  return dated.find(({ state }) => state === 'fail') ?? dated.find(({ state }) => state === 'warn') ?? dated[0] ?? { ...step, says: '' };
}

/** Links that this site opens have chains of their own, so a broken one is only a warning here. */
function linkSteps(step: Step, { links, place }: SiteFacts): readonly Step[] {
  if (step.state !== 'pass') return [step];
  if ('unknown' in links) return [{ ...step, state: 'unknown', says: links.unknown }];
  const down = [...links.value].filter(([, { operational }]) => !operational);
  if (down.length === 0) return [{ ...step, says: links.value.size === 0 ? '' : `${links.value.size} opened, up` }];
  return down
    .slice(0, 8)
    .map(([name, { problem }]) => ({
      ...step,
      ...adviceOn(problem?.code ?? 'connecting'),
      state: 'warn',
      object: `Link/${name}`,
      says: `the link ${shownValue(name)} is down: ${problem?.message ?? 'it is connecting'}`,
      do: commandIn(place, `explain link ${shellWord(name)}`),
    }));
}

/** No object of this site reports links that others opened. */
function incomingSteps(step: Step, facts: SiteFacts): readonly Step[] {
  if (step.state !== 'pass') return [];
  const ended = endedSteps(facts, valueOf(facts.network), 'site.incoming');
  const up = (valueOf(facts.incoming) ?? []).filter(({ operational }) => operational).length;
  if (ended.length > 0) return ended;
  return up === 0 ? [] : [{ ...step, id: 'site.incoming', says: `${up} opened by other sites, up` }];
}

/** Steps of a RouterAccess or a SecuredAccess: its role, its certificate, and its ports. */
export function accessRungs(facts: SiteFacts, subject: Subject, access: RouterAccess | SecuredAccess): readonly Rung[] {
  const prefix = stepPrefix(subject.kind);
  const endpoints = access.status?.endpoints ?? [];
  const bundle = access.kind === 'RouterAccess' ? access.spec.tlsCredentials : undefined;
  return [
    ...headRungs(facts, subject),
    {
      id: `${prefix}.tls`,
      codes: BUNDLE_CODES,
      condition: 'Configured',
      passes: 'usable',
      refine: (step) => bundleStep(step, facts, bundle),
    },
    { id: `${prefix}.port`, codes: [...PORT_CODES, 'host-not-local', 'name-unknown'], passes: 'open' },
    { id: `${prefix}.endpoints`, codes: ['no-endpoints'], condition: 'Resolved', passes: addressesOf(endpoints) },
    {
      id: `${prefix}.hosts`,
      codes: [],
      passes: 'in the certificate',
      refine: (step) =>
        hostsStep(
          step,
          facts,
          bundle,
          endpoints.flatMap(({ host }) => host ?? []),
        ),
    },
  ];
}

/** Other sites check the announced host against the certificate. */
function hostsStep(step: Step, { bundles }: SiteFacts, name: string | undefined, hosts: readonly string[]): Step {
  const bundle = valueOf(bundles)?.find((each) => each.name === name && !each.isAuthority);
  if (step.state !== 'pass' || bundle === undefined || hosts.length === 0) return { ...step, says: '' };
  const missing = [...new Set(hosts)].filter((host) => !bundle.hosts.some((named) => covers(named, host)));
  if (missing.length === 0) return step;
  const says = `${bundle.location} does not contain ${missing
    .slice(0, 4)
    .map((host) => shownValue(host))
    .join(', ')}`;
  return { ...step, ...adviceOn('tls-host-mismatch'), says };
}

/** Whether a name of a certificate is that host, or a wildcard for it (RFC 9525 section 6.3). */
export function covers(named: string, host: string): boolean {
  const [name, desired] = [named.toLowerCase(), host.toLowerCase()];
  return name === desired || (name.startsWith('*.') && desired.slice(desired.indexOf('.')) === name.slice(1));
}
