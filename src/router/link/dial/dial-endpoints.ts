import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { LinkError } from '../link-errors.ts';
import type { LinkHost } from '../host.ts';
import type { RouterId } from '../../routing/contract.ts';
import { openLink, type OpenedLink } from './outgoing.ts';

/** One address at which the peer may be reached. */
export interface DialEndpoint {
  /** For people: `west.example:55671`. */
  readonly peer: string;
  readonly dial: (protocol: string, deadline: number, signal: AbortSignal) => Promise<Socket>;
}

/** What a dialer is to reach. */
export interface DialTarget {
  readonly cost: number;
  /** Who has to answer; left out where it may be anybody that the link's certificates let in. */
  readonly router?: RouterId;
  /** In order of preference. @throws LinkError where nothing can be tried */
  endpoints(): readonly DialEndpoint[];
  /** Whether a link that was opened for `other`, to that peer, is still what is wanted. */
  servedBy(other: DialTarget, peer: string): boolean;
  /** Whether an attempt to open the other is one to open this. */
  equals(other: DialTarget): boolean;
}

/**
 * Opens a link to the first endpoint that can be reached.
 * @param options.last the peer that is tried after all others: where one fell silent, to wait for its answer would keep the
 * link from an endpoint that can be reached
 * @throws LinkError of the first by preference, with the messages of all in that order
 */
export async function openFirst(options: {
  readonly host: LinkHost;
  readonly target: DialTarget;
  readonly last: string | undefined;
  readonly signal: AbortSignal;
}): Promise<{ readonly opened: OpenedLink; readonly peer: string }> {
  const { host, target, last, signal } = options;
  const endpoints = target.endpoints();
  const failures = new Map<DialEndpoint, LinkError>();
  for (const endpoint of [...endpoints.filter((each) => each.peer !== last), ...endpoints.filter((each) => each.peer === last)]) {
    const { peer, dial } = endpoint;
    try {
      const id = randomBytes(10).toString('hex');
      return { opened: await openLink({ host, peer, expected: target.router, dial, id, cost: target.cost, signal }), peer };
    } catch (error) {
      if (signal.aborted || !(error instanceof LinkError)) throw error;
      failures.set(endpoint, error);
    }
  }
  const inOrder = endpoints.flatMap((endpoint) => failures.get(endpoint) ?? []);
  const [first] = inOrder;
  if (first === undefined) throw new LinkError('no-endpoint', 'The link has no endpoint that this site can use. Give it one.');
  throw inOrder.length === 1 ? first : new LinkError(first.code, inOrder.map(({ message }) => message).join(' '), first);
}
