import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import type { TlsBundle } from '../../../identity/tls-bundle.ts';
import { LinkError } from '../link-errors.ts';
import type { LinkHost } from '../host.ts';
import type { RouterId } from '../../routing/contract.ts';
import type { Learned, LinkEndpoint } from '../../contract.ts';
import { openLink, type OpenedLink } from './outgoing.ts';

/** One address at which the peer may be reached. */
export interface DialEndpoint {
  /** For people: `west.example:55671`. */
  readonly peer: string;
  /** Whose it has to be: only that site says that it is reached there. */
  readonly site?: string;
  readonly dial: (protocol: string, deadline: number, signal: AbortSignal) => Promise<Socket>;
}

/** What a dialer is to reach. */
export interface DialTarget {
  readonly cost: number;
  /** Who has to answer; left out where it may be anybody that the link's certificates let in. */
  readonly router?: RouterId;
  /** What is shown there, and as `LinkConfig.priorRevisions`. */
  readonly tls?: TlsBundle;
  readonly priorRevisions?: number | undefined;
  /** What is known from before of where it is reached. */
  readonly remembered?: Learned | undefined;
  /**
   * In order of preference.
   * @param learned what the site that the link was with says of itself
   * @throws LinkError where nothing can be tried
   */
  endpoints(learned?: Learned): readonly DialEndpoint[];
  /** Those of the learned that are for this link. */
  ofLearned(learned: Learned): readonly LinkEndpoint[];
  /** Whether the other begins at the same endpoints: then what was learned by that one holds. */
  beginsAs(other: DialTarget): boolean;
  /** Whether a link that was opened for `other`, to that peer, is still what is wanted. */
  servedBy(other: DialTarget, peer: string): boolean;
  /** Whether an attempt to open the other is one to open this. */
  equals(other: DialTarget): boolean;
}

/** Who a router of the same site is, and where, is known here: nothing that it says of that matters. */
export abstract class KnownTarget implements DialTarget {
  readonly cost = 1;

  abstract endpoints(): readonly DialEndpoint[];
  abstract equals(other: DialTarget): boolean;

  ofLearned(): readonly LinkEndpoint[] {
    return [];
  }

  beginsAs(other: DialTarget): boolean {
    return this.equals(other);
  }

  servedBy(other: DialTarget): boolean {
    return this.equals(other);
  }
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
  readonly learned?: Learned | undefined;
  readonly onLearned?: (learned: Learned) => void;
  readonly signal: AbortSignal;
}): Promise<{ readonly opened: OpenedLink; readonly peer: string }> {
  const { host, target, last, learned, onLearned, signal } = options;
  const endpoints = target.endpoints(learned);
  const failures = new Map<DialEndpoint, LinkError>();
  for (const endpoint of [...endpoints.filter((each) => each.peer !== last), ...endpoints.filter((each) => each.peer === last)]) {
    const { peer, site, dial } = endpoint;
    try {
      const id = randomBytes(10).toString('hex');
      const opened = await openLink({ host, peer, expected: target.router, site, dial, id, cost: target.cost, onLearned, signal });
      return { opened, peer };
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
