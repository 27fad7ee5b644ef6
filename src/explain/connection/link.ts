import type { Link } from '../../api/skupper/index.ts';
import { isConditionCode } from '../../errors/problem.ts';
import { nameOf } from '../../site/resources.ts';
import { timeText } from '../../site/observe/time-text.ts';
import { commandIn } from '../../text/command-in.ts';
import { hostPort } from '../../text/host-port.ts';
import { shownValue } from '../../text/printable.ts';
import { shellWord } from '../../text/shell-word.ts';
import { bundleStep } from './bundle-steps.ts';
import { BUNDLE_CODES, HANDSHAKE_CODES } from './code-groups.ts';
import { headRungs, type Subject } from './head.ts';
import { adviceOn, type ObjectProblem } from './object-problem.ts';
import type { Rung } from './rungs.ts';
import { valueOf, type LinkFacts, type SiteFacts } from './site-facts.ts';
import type { Step } from '../step.ts';

/** Steps of a Link, in the order of its handshake (docs/protocol.md). */
export function linkRungs(facts: SiteFacts, subject: Subject, link: Link): readonly Rung[] {
  const { tlsCredentials, settings } = link.spec;
  const state = valueOf(facts.links)?.get(nameOf(link));
  const endpoint = state?.endpoint ?? firstEndpoint(link);
  const site = link.status?.remoteSiteName ?? state?.siteName;
  return [
    ...headRungs(facts, subject),
    {
      id: 'link.bundle',
      codes: BUNDLE_CODES,
      condition: 'Configured',
      passes: 'usable',
      refine: (step) => bundleStep(step, facts, tlsCredentials),
    },
    { id: 'link.name', codes: ['name-unknown'], passes: endpoint === undefined ? '' : shownValue(endpoint) },
    {
      id: 'link.proxy',
      codes: ['proxy-missing', 'not-a-proxy', 'proxy-refused'],
      ...(settings?.['proxy-configuration'] === undefined ? {} : { passes: shownValue(settings['proxy-configuration']) }),
    },
    // The status of a Link in a cluster has no code, so only its message says which of the next steps fails.
    { id: 'link.handshake', codes: [], condition: 'Operational' },
    {
      id: 'link.tcp',
      codes: ['connecting', 'refused', 'unreachable', 'timeout'],
      passes: 'connected',
      refine: (step) => movedStep(step, facts, nameOf(link)),
    },
    { id: 'link.tls', codes: [...HANDSHAKE_CODES, 'not-earshot'], condition: 'Operational', passes: 'mutual TLS 1.3' },
    {
      id: 'link.hello',
      codes: ['version', 'self', 'edge-only', 'wrong-site', 'wrong-proof', 'wrong-router', 'protocol', 'busy', 'draining', 'revoked'],
      passes: site === undefined ? 'admitted' : `admitted by site ${shownValue(site)}`,
    },
    { id: 'link.routing', codes: ['routing', 'too-slow'], passes: 'routes are exchanged' },
    { id: 'link.live', codes: ['silent', 'lost', 'closed'], passes: 'answers', refine: (step) => liveStep(step, state) },
    { id: 'link.renewal', codes: ['renew-refused'], passes: 'nothing is due' },
  ];
}

function firstEndpoint({ spec: { endpoints } }: Link): string | undefined {
  const [first] = endpoints;
  return first?.host === undefined ? undefined : hostPort({ host: first.host, port: first.port ?? '' });
}

/** A machine announces no new address, so a link that is down cannot learn it. */
function movedStep(step: Step, { place }: SiteFacts, name: string): Step {
  if (step.do === undefined) return step;
  const command = commandIn(place, `link update ${shellWord(name)} --host ADDRESS`);
  return { ...step, do: `${step.do} If the other machine has a new address: ${command}` };
}

function liveStep(step: Step, state: LinkFacts | undefined): Step {
  if (state?.operational !== true || state.silentSince === undefined) return step;
  const since = timeText(state.silentSince);
  return { ...step, ...adviceOn('silent'), says: `silent since ${since}; new connections use other paths`, since };
}

/** The router's own view of a Link is more recent than the status, and has codes on every platform. */
export function problemOfLink(link: Link, facts: SiteFacts, reported: ObjectProblem | undefined): ObjectProblem | undefined {
  const problem = valueOf(facts.links)?.get(nameOf(link))?.problem;
  if (problem === undefined || reported?.condition === 'Configured') return reported;
  const { code, message } = problem;
  const since = reported?.since === undefined ? {} : { since: reported.since };
  // Problems of the site's own bundle name it. All others concern what the peer presents.
  const condition = message.startsWith('The TLS bundle ') ? 'Configured' : 'Operational';
  return { condition, message, ...since, ...(isConditionCode(code) ? { code } : {}) };
}
