/** Measures the path to the connectors of a routing key: each hop, then the server. Routers of any version answer. */
import { performance } from 'node:perf_hooks';
import { limitTable } from '../../limits/table.ts';
import type { RouteDestination } from '../../routing/contract.ts';
import { siteOf } from '../../routing/names.ts';
import type { ProbedHop, ProbedServer, ProbeResult, ProbeTarget } from '../contract.ts';
import { detailsOf } from '../link/refusal.ts';
import { errorGiven, fieldsOf } from '../local/failure.ts';
import type { ServerProbe } from '../local/local-side.ts';
import { refusalCode, requestAlongRoute, type OpenRequest, type RouteAnswer } from '../route-request.ts';
import { ORIGIN_FIELD, PROBE_AUTHORITY, PROBE_FIELD, PROBE_PATH_FIELD, ROUTE_FIELD } from '../wire.ts';
import { withoutUndefined } from '../../text/untrusted-fields.ts';
import { parsePassed, parseReport, type ProbeKind, type ProbeReport } from './probe-fields.ts';

export interface ProberOptions {
  /** ID of this site. */
  readonly site: string;
  readonly siteName: (id: string) => string | undefined;
  /** Destinations of a key, the best one first. */
  readonly destinations: (routingKey: string) => readonly RouteDestination[];
  readonly open: OpenRequest;
  /** Routing key of a connector of this router. */
  readonly keyHere: (connector: string) => string | undefined;
  /** Connects to a server of this router, and closes the connection. */
  readonly connectHere: (target: ProbeTarget) => Promise<ServerProbe>;
}

/** Milliseconds after which a hop counts as lost, and within which a server must have answered. */
const HOP_DEADLINE = 2_000;
const SERVER_DEADLINE = limitTable.probeTime.value;
/** Longest path on which each hop is measured three times: other routers accept 20 probes at once. */
const SHORT_PATH = 5;
/** More hops are not measured: with these, a router receives 20 probes at once. */
const MOST_HOPS = 19;

/** An answer with the time of its arrival, in milliseconds since 1970. */
type TimedAnswer = Extract<RouteAnswer, { kind: 'answer' }> & { readonly at: number };

/** Probes the best destination of a key, or a connector of this router. @returns undefined without one */
export async function probeTarget(target: ProbeTarget, options: ProberOptions): Promise<ProbeResult | undefined> {
  if ('connector' in target) {
    const key = options.keyHere(target.connector);
    return key === undefined ? undefined : { key, hops: [], server: await probeHere(target, options) };
  }
  const routingKey = target.key;
  const to = options.destinations(routingKey)[0];
  if (to === undefined) return undefined;
  if (to.path.length === 0) return { key: routingKey, hops: [], server: await probeHere(target, options) };
  const measured = to.path.slice(0, MOST_HOPS);
  const hops = await Promise.all(measured.map((router, index) => probeHop(to, index + 1, router, options)));
  const broken = hops.some(({ ok }) => !ok);
  return { key: routingKey, hops, ...(broken ? {} : { server: await probeServer(routingKey, to, options) }) };
}

async function probeHere(target: ProbeTarget, { connectHere }: ProberOptions): Promise<ProbedServer> {
  const begun = performance.now();
  const { failed, ...report } = await connectHere(target);
  if (failed === undefined) return { ok: true, ms: performance.now() - begun, ...detailsIn(report) };
  return { ok: false, code: serverCodeOf(errorGiven(fieldsOf(failed))), says: failed.message, ...detailsIn(report) };
}

const detailsIn = ({ tls, key, aside }: ProbeReport): Pick<ProbedServer, 'tls' | 'servers' | 'aside'> =>
  withoutUndefined({ tls, servers: key, aside });

async function probeHop(to: RouteDestination, count: number, router: string, options: ProberOptions): Promise<ProbedHop> {
  const named = { router, site: options.siteName(siteOf(router)) ?? siteOf(router) };
  let best: TimedAnswer | undefined;
  let lost: Extract<RouteAnswer, { kind: 'lost' }> | undefined;
  for (let turn = 0; turn < (to.path.length <= SHORT_PATH ? 3 : 1); turn += 1) {
    const answer = await ask('hop', PROBE_AUTHORITY, to, count, HOP_DEADLINE, options);
    if (answer.kind === 'lost') lost = answer;
    else if (best === undefined || (answer.head.status === 404 && answer.ms < best.ms)) best = { ...answer, at: Date.now() };
    if (answer.kind === 'lost' || answer.head.status !== 404) break;
  }
  if (best === undefined) return { ...named, ok: false, code: 'timeout', says: lost?.why ?? '' };
  const { status, fields } = best.head;
  const { version, queued, clock, in: waited } = parseReport(fields[PROBE_FIELD]);
  // The router read its clock about half a round trip before the answer arrived.
  const clockAhead = clock === undefined ? undefined : Math.round(clock - (best.at - best.ms / 2));
  const about = { ms: best.ms, ...withoutUndefined({ version, queued, clockAhead, waited }) };
  if (status === 404) return { ...named, ...about, ok: true };
  const details = detailsOf(fields);
  const says = `the path broke before it: status ${status}${details === undefined ? '' : `, ${details}`}`;
  return { ...named, ok: false, code: refusalCode(status), says };
}

async function probeServer(routingKey: string, to: RouteDestination, options: ProberOptions): Promise<ProbedServer> {
  const answer = await ask('connect', routingKey, to, to.path.length, SERVER_DEADLINE, options);
  if (answer.kind === 'lost') return { ok: false, code: 'timeout', says: answer.why };
  const { status, fields } = answer.head;
  const report = parseReport(fields[PROBE_FIELD]);
  const passed = parsePassed(fields[PROBE_PATH_FIELD]);
  const found = { ...detailsIn(report), ...(passed.length === 0 ? {} : { passed }) };
  if (status === 200) return { ok: true, ms: report.connect ?? answer.ms, ...found };
  const error = errorGiven(fields);
  return { ok: false, code: serverCodeOf(error), says: `status ${status}${error === undefined ? '' : ` (${error})`}`, ...found };
}

const serverCodeOf = (error = ''): string => serverCodes.get(error) ?? 'servers-failing';

/** Codes of a Connector's status, by error type of RFC 9209. */
const serverCodes = new Map([
  ['connection_refused', 'target-refused'],
  ['destination_ip_unroutable', 'target-unreachable'],
  ['connection_timeout', 'target-timeout'],
  ['dns_error', 'target-name-unknown'],
  ['tls_protocol_error', 'target-tls-failed'],
  ['tls_certificate_error', 'target-tls-certificate'],
  ['destination_not_found', 'no-connector'],
  ['connection_limit_reached', 'busy'],
]);

/** One request along the first `count` routers of the path. */
function ask(
  kind: ProbeKind,
  authority: string,
  to: RouteDestination,
  count: number,
  deadline: number,
  { site, open }: ProberOptions,
): Promise<RouteAnswer> {
  const route = to.path.slice(0, count).join(' ');
  const fields = { [ROUTE_FIELD]: route, [ORIGIN_FIELD]: site, [PROBE_FIELD]: kind };
  return requestAlongRoute({ to, head: { method: 'CONNECT', authority, fields }, deadline, open, owner: PROBE_AUTHORITY });
}
