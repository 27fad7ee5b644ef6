/** Calls of the measured programs in the API server's audit log: pure, one line at a time. */

/** Callers by user agent. The sidecar is not ours, but it works for us. */
export type Program = (typeof PROGRAMS)[number][1];

/** How often a program called. */
export interface Tally {
  /** Requests that change something, events among them; failed ones too, since they cost the same. Leases are apart. */
  readonly writes: number;
  readonly events: number;
  /** Gets and lists, and watches that begin with a list. */
  readonly reads: number;
  readonly lists: number;
  /** Watches that go on from where an earlier one ended. */
  readonly watches: number;
  /** Any request for a Lease. */
  readonly leases: number;
}

export const NOTHING: Tally = { writes: 0, events: 0, reads: 0, lists: 0, watches: 0, leases: 0 };

export interface Call {
  readonly program: Program;
  readonly counts: Tally;
  /** `controller: patch services/status default/web → 404`, for people who look for an unexpected one. */
  readonly text: string;
  /** The same of all objects of a kind: `controller: patch services/status` */
  readonly kind: string;
}

/** The first that a user agent begins with. */
const PROGRAMS = [
  ['earshot-controller', 'controller'],
  ['earshot-csi-node', 'csi-node'],
  ['earshot-site-controller', 'site-controller'],
  ['earshot-router-lease', 'lease'],
  ['earshot-router', 'router'],
  ['earshot-lease', 'lease'],
  ['csi-provisioner', 'sidecar'],
] as const;

/** Earshot's own. */
export const OWN: readonly Program[] = ['controller', 'csi-node', 'site-controller', 'router', 'lease'];

const WRITES: ReadonlySet<string> = new Set(['create', 'update', 'patch', 'delete', 'deletecollection']);

/** The call that a line of the log records; undefined for a call of another program, or one that is counted already. */
export function callOf(line: string): Call | undefined {
  // Most lines are the control plane's own, and parsing them takes longer than everything else here.
  const program = PROGRAMS.find(([agent]) => line.includes(`"userAgent":"${agent}`))?.[1];
  if (program === undefined) return undefined;
  // audit.k8s.io/v1 Event; the API server writes one JSON object a line.
  const { stage, verb, requestURI, objectRef, responseStatus } = JSON.parse(line) as AuditEvent;
  // A watch is written down twice, when it begins and when it ends; anything else once, with its answer.
  if (verb === 'watch' ? stage !== 'ResponseStarted' : stage === 'ResponseStarted') return undefined;
  const { resource = requestURI, subresource, namespace, name } = objectRef ?? {};
  const what = subresource === undefined ? resource : `${resource}/${subresource}`;
  const which = [namespace, name].filter((part) => part !== undefined).join('/');
  const kind = `${program}: ${verb} ${what}`;
  return {
    program,
    counts: { ...NOTHING, ...countsOf(verb, resource, requestURI) },
    text: `${kind}${which === '' ? '' : ` ${which}`} → ${responseStatus?.code ?? 'no answer'}`,
    kind,
  };
}

function countsOf(verb: string, resource: string, uri: string): Partial<Tally> {
  if (resource === 'leases') return { leases: 1 };
  if (WRITES.has(verb)) return resource === 'events' ? { writes: 1, events: 1 } : { writes: 1 };
  if (verb === 'list' || (verb === 'watch' && uri.includes('sendInitialEvents=true'))) return { reads: 1, lists: 1 };
  return verb === 'watch' ? { watches: 1 } : { reads: 1 };
}

interface AuditEvent {
  readonly stage: string;
  readonly verb: string;
  readonly requestURI: string;
  readonly objectRef?: { readonly resource?: string; readonly subresource?: string; readonly namespace?: string; readonly name?: string };
  readonly responseStatus?: { readonly code?: number };
}

export function sum(a: Tally, b: Tally): Tally {
  return {
    writes: a.writes + b.writes,
    events: a.events + b.events,
    reads: a.reads + b.reads,
    lists: a.lists + b.lists,
    watches: a.watches + b.watches,
    leases: a.leases + b.leases,
  };
}
