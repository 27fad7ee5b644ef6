/** The requests that the API server received, and their users: its audit log, read from a point on. */
import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs';
import { eventually, type Cluster } from '../../harness/index.ts';

/** One request that has ended (audit.k8s.io/v1 Event, level Metadata). */
export interface AuditedRequest {
  readonly auditID: string;
  readonly verb: string;
  readonly requestURI: string;
  readonly userAgent?: string;
  readonly user: { readonly username?: string; readonly extra?: Readonly<Record<string, readonly string[]>> };
  readonly objectRef?: {
    readonly resource?: string;
    readonly namespace?: string;
    readonly name?: string;
    readonly subresource?: string;
    readonly apiGroup?: string;
  };
  readonly responseStatus?: { readonly code?: number };
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
}

const BEGINNING = '{"kind":"Event"';
const writes: ReadonlySet<string> = new Set(['create', 'update', 'patch', 'delete', 'deletecollection', 'apply']);

/** A reader of every request that the API server receives from now on. */
export async function auditFromNow(cluster: Cluster): Promise<AuditReader> {
  const reader = new AuditReader(cluster, statSync(cluster.auditLog).size, '');
  // Older requests may still be on their way into the log, and a watch appears again when it ends: their time distinguishes them.
  const { requestReceivedTimestamp } = await reader.settle();
  return new AuditReader(cluster, reader.end, requestReceivedTimestamp);
}

export class AuditReader {
  readonly #cluster: Cluster;
  readonly #since: string;
  /** Behind a line, but for where the first reader begins. */
  #offset: number;
  readonly #seen: AuditedRequest[] = [];

  /** `since` is a time as the log spells it: what was received before does not count. */
  constructor(cluster: Cluster, offset: number, since: string) {
    this.#cluster = cluster;
    this.#offset = offset;
    this.#since = since;
  }

  get end(): number {
    return this.#offset;
  }

  /** All requests of Earshot's own programs (not of its sidecar) that the log holds by now. */
  earshot(): readonly AuditedRequest[] {
    return this.#read().filter(({ userAgent }) => userAgent?.startsWith('earshot') === true);
  }

  /** Earshot's writes, but for the Lease of the leader; those of one namespace where it is named. */
  writes(namespace?: string): readonly AuditedRequest[] {
    const isAsked = ({ objectRef }: AuditedRequest): boolean => namespace === undefined || objectRef?.namespace === namespace;
    return this.earshot().filter((request) => writes.has(request.verb) && request.objectRef?.resource !== 'leases' && isAsked(request));
  }

  /** Writes that concern what happens in the cluster, events apart. */
  changes(namespace?: string): readonly AuditedRequest[] {
    return this.writes(namespace).filter(({ objectRef }) => objectRef?.resource !== 'events');
  }

  /** Whole lists, and watches that begin with one. */
  lists(): readonly AuditedRequest[] {
    const beginsWithList = (uri: string): boolean => uri.includes('sendInitialEvents=true');
    return this.earshot().filter(({ verb, requestURI }) => verb === 'list' || (verb === 'watch' && beginsWithList(requestURI)));
  }

  /** Returns once everything that was answered before this call is in the log; with the request that shows it. */
  async settle(): Promise<AuditedRequest> {
    const mark = `/api/v1/namespaces/default/configmaps/audit-mark-${process.pid}-${performance.now().toString(36).replace('.', '-')}`;
    await this.#cluster.api.find(mark);
    return eventually('a request to reach the audit log', () => this.#read().find(({ requestURI }) => requestURI === mark), {
      everyMs: 20,
    });
  }

  #read(): readonly AuditedRequest[] {
    const file = openSync(this.#cluster.auditLog, 'r');
    try {
      const size = fstatSync(file).size;
      const chunk = Buffer.alloc(size - this.#offset);
      const length = readSync(file, chunk, 0, chunk.length, this.#offset);
      // A line that is being written is read next time, from its beginning.
      const whole = chunk.subarray(0, length).lastIndexOf('\n') + 1;
      this.#offset += whole;
      for (const line of chunk.toString('utf8', 0, whole).split('\n')) {
        // Most of the log is the control plane's own talk. The first line may be the end of one.
        if (!line.startsWith(BEGINNING) || !(line.includes('"userAgent":"earshot') || line.includes('audit-mark-'))) continue;
        const request = JSON.parse(line) as AuditedRequest;
        if (request.requestReceivedTimestamp >= this.#since) this.#seen.push(request);
      }
    } finally {
      closeSync(file);
    }
    return this.#seen;
  }
}

/** `patch services e2e-1/web`, for messages and comparisons. */
export function describeRequest({ verb, objectRef = {}, responseStatus }: AuditedRequest): string {
  const { resource = '', subresource, namespace, name = '' } = objectRef;
  const what = subresource === undefined ? resource : `${resource}/${subresource}`;
  return `${verb} ${what} ${namespace === undefined ? name : `${namespace}/${name}`} → ${responseStatus?.code ?? 'no answer'}`;
}

/** An event of another test, whose namespace is gone: repeats are counted for ten seconds before the count is written. */
export function isLateEvent({ objectRef, responseStatus }: AuditedRequest): boolean {
  return objectRef?.resource === 'events' && responseStatus?.code === 404;
}

/** The pod whose token a request bore, which distinguishes replicas of one service account. */
export function podOf({ user }: AuditedRequest): string | undefined {
  return user.extra?.['authentication.kubernetes.io/pod-name']?.[0];
}
