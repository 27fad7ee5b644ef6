/** Explains one connection from the records of the site's routers: both ends, the path between, and how it ended (pure). */
import { catalogue } from '../../errors/catalogue.ts';
import { commandIn } from '../../text/command-in.ts';
import { elapsed } from '../../text/elapsed.ts';
import { quoted, shownValue } from '../../text/printable.ts';
import { explainChain, type Check } from '../chain.ts';
import type { Explanation, Step } from '../step.ts';
import { processStep } from './head.ts';
import { adviceFrom, adviceOn } from './object-problem.ts';
import { valueOf, type SiteFacts, type Source } from './site-facts.ts';

/** A connection as the routers of this site recorded it. Texts are safe to display. */
export interface RecordFacts {
  readonly id: string;
  readonly key: string;
  readonly state: 'open' | 'ended' | 'failed';
  /** RFC 3339. */
  readonly begun: string;
  readonly ended: string | null;
  /** Milliseconds since bytes last passed. */
  readonly idle: number | null;
  readonly from: End & { readonly client: string | null; readonly listener: string | null };
  /** IDs of the routers between. */
  readonly via: readonly string[];
  readonly to: End & { /** `SITE-ID/ROUTER`. */ readonly router: string | null; readonly server: string | null };
  readonly bytes: { readonly up: number; readonly down: number };
  /** Milliseconds. */
  readonly ms: { readonly connect: number | null; readonly firstByte: number | null };
  readonly end: string | null;
  readonly message: string | null;
  readonly halves: readonly string[];
}

interface End {
  readonly site: string | null;
  readonly siteName: string | null;
}

/** @param records those with the ID; several only if peers use one ID twice. @returns undefined without one */
export function explainRecord(facts: SiteFacts, id: string, records: Source<readonly RecordFacts[]>): Explanation | undefined {
  const object = `connection/${id}`;
  const [record, ...others] = valueOf(records) ?? [];
  const isStopped = valueOf(facts.stopped) !== undefined;
  if (record === undefined && 'value' in records && !isStopped) return undefined;
  const process = check('connection.process', object, (step) => processStep({ ...step, says: 'runs' }, facts));
  const unread = check('connection.record', object, (step) => ({
    ...step,
    state: 'unknown',
    says: 'unknown' in records ? records.unknown : '',
  }));
  const checks = record === undefined ? [process, unread] : [process, ...recordChecks(facts, object, record, others.length)];
  return explainChain(object, checks, new Date(facts.now));
}

function recordChecks(facts: SiteFacts, object: string, record: RecordFacts, others: number): readonly Check[] {
  const { state, halves } = record;
  return [
    check('connection.record', object, (step) => recordStep(step, record, facts.now, others)),
    check('connection.client', object, (step) => ({ ...step, says: clientText(record) })),
    check('connection.path', object, (step) => pathStep(step, facts, record)),
    check('connection.server', object, (step) => serverStep(step, record)),
    ...(state === 'failed' ? [] : [check('connection.data', object, (step) => dataStep(step, record))]),
    ...(state === 'ended' ? [check('connection.end', object, (step) => endStep(step, record))] : []),
    ...(halves.includes('last') || halves.includes('first') ? [] : [check('connection.ends', object, endsStep)]),
  ];
}

/** Each step is independent: it reports its own part of a record. */
function check(id: string, object: string, find: (step: Step) => Step): Check {
  return { id, object, independent: true, run: () => find({ id, object, state: 'pass', says: '' }) };
}

function recordStep(step: Step, { key, state, begun, ended }: RecordFacts, now: number, others: number): Step {
  const lasted = elapsed((ended === null ? now : Date.parse(ended)) - Date.parse(begun));
  const words = {
    open: `open since ${begun} (${lasted})`,
    ended: `ended at ${ended ?? ''} after ${lasted}`,
    failed: `failed at ${ended ?? begun}`,
  };
  const says = `${words[state]}, routing key ${quoted(key)}`;
  if (others === 0) return { ...step, says };
  return { ...step, state: 'warn', says: `${says}. ${others} more ${others === 1 ? 'connection has' : 'connections have'} the same ID` };
}

function clientText({ from, halves }: RecordFacts): string {
  if (halves.includes('first')) return `${from.client ?? 'a client'} at ${from.listener ?? 'a listener'} of ${siteText(from)}`;
  return `began at ${siteText(from)}, which has the address of the client`;
}

const siteText = ({ site, siteName }: End): string => `site ${shownValue(siteName ?? site ?? 'unknown')}`;

/** Sites on the path. An open connection whose path has a site that is not reachable any more waits in vain. */
function pathStep(step: Step, { network }: SiteFacts, { from, via, to, state }: RecordFacts): Step {
  const names = new Map(valueOf(network)?.sites.map(({ id, name }) => [id, name]));
  const between = via.map((router) => router.split('/')[0] ?? '');
  const nameOf = ({ site, siteName }: End): string => siteName ?? site ?? 'unknown';
  const all = [nameOf(from), ...between.map((id) => names.get(id) ?? id), nameOf(to)];
  const sites = all.filter((name, index) => name !== all[index - 1]);
  const says = sites.length === 1 ? 'in this site' : sites.map((name) => shownValue(name)).join(' > ');
  const ids = [from.site, ...between, to.site].flatMap((id) => (id === null || id === '' ? [] : id));
  const lost = names.size === 0 || state !== 'open' ? [] : ids.filter((id) => !names.has(id));
  if (lost.length === 0) return { ...step, says };
  return {
    ...step,
    ...adviceOn('silent'),
    state: 'warn',
    says: `${says}; not reachable now: ${lost.map((id) => shownValue(id)).join(', ')}`,
  };
}

function serverStep(step: Step, record: RecordFacts): Step {
  const { state, to, ms, end, message, halves, id } = record;
  const at = siteText(to);
  if (state === 'failed') {
    const code = halves.includes('last') && catalogue.has(`target-${end ?? ''}`) ? `target-${end ?? ''}` : (end ?? 'servers-failing');
    const says = `no server ${to.site === null ? '' : `at ${at} `}accepted it: ${message ?? end ?? 'unknown'}`;
    const by = { site: to.siteName ?? to.site ?? '', router: routerName(to.router ?? '') };
    return { ...step, ...adviceFrom(code, by), state: 'fail', says };
  }
  const after = ms.connect === null ? '' : `, connected after ${ms.connect} ms`;
  if (halves.includes('last')) return { ...step, says: `${to.server ?? 'a server'} at ${at}${after}` };
  return { ...step, says: `at ${at}${after}; its address is known there: ${commandIn(ANYWHERE, `explain connection ${id}`)}` };
}

/** Name within the site: `router` of `SITE-ID/router`. */
export const routerName = (id: string): string => id.slice(id.indexOf('/') + 1);

/** A command for another site: the options of this place mean nothing there. */
const ANYWHERE = { commandFlags: '' };

function dataStep(step: Step, { bytes: { up, down }, ms, idle, state }: RecordFacts): Step {
  const first = ms.firstByte === null ? '' : `, first byte of the server after ${ms.firstByte} ms`;
  const waits = idle === null ? '' : `, idle for ${elapsed(idle)}`;
  const says = `${up} bytes to the server, ${down} to the client${first}${waits}`;
  if (state === 'open' && up > 0 && down === 0) return { ...step, state: 'warn', says: `${says}; the server has not answered yet` };
  return { ...step, says };
}

/** Ends that the client or the server chose, or that close a finished connection. */
const ORDERLY: ReadonlySet<string> = new Set(['orderly', 'client-reset', 'drained', 'command']);

function endStep(step: Step, { end, message }: RecordFacts): Step {
  const says = `${END_TEXTS[end ?? ''] ?? shownValue(end ?? 'unknown')}${message === null ? '' : `: ${message}`}`;
  return ORDERLY.has(end ?? '') ? { ...step, says } : { ...step, state: 'warn', says };
}

const END_TEXTS: Readonly<Record<string, string>> = {
  orderly: 'client and server ended it',
  'client-reset': 'the client reset it',
  'server-reset': 'the server reset it',
  'path-broke': 'a link on its path ended',
  'other-router': 'another router on its path ended it',
  revoked: 'a site on its path was revoked',
  drained: 'a router on its path stopped',
  evicted: 'the router needed its memory',
  command: 'a user ended it',
};

function endsStep(step: Step): Step {
  return { ...step, says: 'this site only forwards it' };
}
