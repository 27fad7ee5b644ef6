/** Steps about what a probe measured: each hop, and the server (pure). */
import { adviceOn } from './object-problem.ts';
import { probeName, type ProbedServer, type ProbedTarget, type ProbeFacts, type SiteFacts } from './site-facts.ts';
import { elapsed } from '../../text/elapsed.ts';
import { shownValue } from '../../text/printable.ts';
import type { Step } from '../step.ts';

/** @returns nothing without a probe of the key */
export function hopSteps(
  { probes }: SiteFacts,
  { prefix, object, key }: { readonly prefix: string; readonly object: string; readonly key: string },
): readonly Step[] {
  const probe = probes?.get(key);
  if (probe === undefined) return [];
  const id = `${prefix}.hops`;
  if ('unknown' in probe) return [{ id, object, state: 'unknown', says: probe.unknown }];
  const { hops } = probe.value;
  if (hops.length === 0) return [];
  const facts = { hops };
  const broken = hops.find(({ ok }) => !ok);
  const reached = hops.slice(0, broken === undefined ? hops.length : hops.indexOf(broken));
  // Round trips from here. Differences of two of them are mostly noise on short paths.
  const says = reached.map(({ site, ms = 0, queued = 0, waited = 0 }) => {
    const about = [
      ...(queued === 0 ? [] : [`${(queued / 1e6).toFixed(1)} MB queued`]),
      ...(waited < LONG_WAIT ? [] : [`${waited.toFixed(1)} ms of it in that router`]),
    ];
    return `${shownValue(site)} ${ms.toFixed(1)} ms${about.length === 0 ? '' : ` (${about.join(', ')})`}`;
  });
  const passed: Step = { id, object, state: 'pass', says: `round trips from here: ${says.join(', ')}`, facts };
  const clocks = clockSteps(`${prefix}.clock`, object, reached);
  if (broken === undefined) return [passed, ...clocks];
  const state = broken.code === 'busy' ? 'unknown' : 'fail';
  const failed: Step = {
    id,
    object,
    ...adviceOn(broken.code),
    state,
    says: `${shownValue(broken.site)}: ${broken.says ?? 'not reached'}`,
    facts,
  };
  return reached.length === 0 ? [failed] : [passed, failed];
}

/** Certificates begin and end by these clocks. Logs of both sites are compared by them too. */
function clockSteps(id: string, object: string, reached: ProbeFacts['hops']): readonly Step[] {
  return reached
    .filter(({ clockAhead = 0, ms = 0 }) => Math.abs(clockAhead) > TOLERATED + ms / 2)
    .map(({ site, clockAhead = 0 }) => ({
      id,
      object,
      ...adviceOn('clock-wrong'),
      state: 'warn',
      says: `the clock of ${shownValue(site)} is ${elapsed(Math.abs(clockAhead))} ${clockAhead > 0 ? 'ahead of' : 'behind'} the one here`,
      do: 'Correct the wrong clock.',
    }));
}

/** Milliseconds from which the wait in a router, rather than the network, explains a slow hop. */
const LONG_WAIT = 5;

/** Milliseconds by which clocks may differ. */
const TOLERATED = 5_000;

/** The step about the server, as the probe found it; unchanged without a probe. */
export function probedServer(step: Step, { probes }: SiteFacts, key: string): Step {
  const probe = probes?.get(key);
  if (probe === undefined || 'unknown' in probe) return step;
  const { server } = probe.value;
  if (server === undefined) return step;
  const { ok, ms = 0, code = 'servers-failing', says = '' } = server;
  const { id, object } = step;
  if (ok) return { id, object, state: 'pass', says: acceptedText(server), ms, facts: { server } };
  // Another router limits probes.
  if (code === 'busy') return { id, object, state: 'unknown', says: `not probed: ${says}` };
  const site = siteOf(probe.value);
  const place = site === undefined ? 'here' : `at ${shownValue(site)}`;
  return {
    id,
    object,
    ...adviceOn(code),
    state: 'fail',
    says: `the server ${place} does not accept connections: ${says}`,
    do: `${place}: \`earshot connector status\``,
  };
}

/** Steps about a server of this site: the result of its probe, or the status if a probe was not possible. */
export function probedHere(step: Step, { probes }: SiteFacts, target: ProbedTarget): readonly Step[] {
  const probe = probes?.get(probeName(target));
  if (probe === undefined || step.state === 'skip') return [step];
  const { id, object } = step;
  if ('unknown' in probe) return [step, { id: `${id}-probe`, object, state: 'unknown', says: probe.unknown }];
  const server: ProbedServer = probe.value.server ?? { ok: false, says: 'the router did not report on the server' };
  const { ok, ms = 0, code, says = '' } = server;
  if (ok) return [{ id, object, state: 'pass', says: acceptedText(server), ms, facts: { server } }];
  return [{ id, object, ...adviceOn(code), state: 'fail', says }];
}

/** `accepted the connection in 8.2 ms (TLS 5.0 ms); 1 of 2 servers is set aside` */
function acceptedText({ ms = 0, tls, servers = 0, aside = 0 }: ProbedServer): string {
  const ofTls = tls === undefined ? '' : ` (TLS ${tls.toFixed(1)} ms)`;
  const others = aside === 0 ? '' : `; ${aside} of ${servers} servers ${aside === 1 ? 'is' : 'are'} set aside`;
  return `accepted the connection in ${ms.toFixed(1)} ms${ofTls}${others}`;
}

const siteOf = ({ hops }: ProbeFacts): string | undefined => hops.at(-1)?.site;
