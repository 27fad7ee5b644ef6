/** What the API server's audit log says of the programs that are measured: pure, one line at a time. */

/** Who calls, by user agent. The sidecar is not ours, but it works for us. */
export type Program = 'controller' | 'csi-node' | 'lease' | 'sidecar';

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
}

const PROGRAMS: readonly (readonly [agent: string, program: Program])[] = [
  ['earshot-controller', 'controller'],
  ['earshot-csi-node', 'csi-node'],
  ['earshot-lease', 'lease'],
  ['csi-provisioner', 'sidecar'],
];

const WRITES: ReadonlySet<string> = new Set(['create', 'update', 'patch', 'delete', 'deletecollection']);

/** The call that a line of the log tells of; undefined where another program called, or the call has been counted already. */
export function callOf(line: string): Call | undefined {
  // Most lines are the control plane's own, and parsing them takes longer than everything else here.
  const program = PROGRAMS.find(([agent]) => line.includes(`"userAgent":"${agent}`))?.[1];
  if (program === undefined) return undefined;
  // audit.k8s.io/v1 Event; the API server writes one JSON object a line.
  const { stage, verb, requestURI, objectRef } = JSON.parse(line) as AuditEvent;
  // A watch is written down twice, when it begins and when it ends; anything else once, with its answer.
  if (verb === 'watch' ? stage !== 'ResponseStarted' : stage === 'ResponseStarted') return undefined;
  if (objectRef?.resource === 'leases') return { program, counts: { ...NOTHING, leases: 1 } };
  if (WRITES.has(verb)) return { program, counts: { ...NOTHING, writes: 1, events: objectRef?.resource === 'events' ? 1 : 0 } };
  const isList = verb === 'list' || (verb === 'watch' && requestURI.includes('sendInitialEvents=true'));
  if (isList) return { program, counts: { ...NOTHING, reads: 1, lists: 1 } };
  return { program, counts: { ...NOTHING, ...(verb === 'watch' ? { watches: 1 } : { reads: 1 }) } };
}

interface AuditEvent {
  readonly stage: string;
  readonly verb: string;
  readonly requestURI: string;
  readonly objectRef?: { readonly resource?: string };
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
