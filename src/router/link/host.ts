import type { Socket } from 'node:net';
import type { Logger } from '../../telemetry/log.ts';
import type { RouterHooks, SiteKey } from '../contract.ts';
import type { RequestHead, Stream, StreamHandler } from '../http2/contract.ts';
import type { RouterId } from '../routing/contract.ts';
import type { Party } from '../../identity/revocation.ts';
import type { Hello } from './session/hello.ts';
import type { Link, LinkEvents } from './link.ts';
import type { Links } from './links.ts';
import type { Liveness } from './session/liveness.ts';
import type { Memory } from '../memory/memory.ts';
import type { AdmissionSlots } from '../../limits/admission-slots.ts';
import type { LoopQuota, PeerLoopQuotas } from '../../limits/loop/loop-quota.ts';
import type { KeyedCpuBudget } from '../../limits/cpu-budget.ts';

/** Who is at the other end of a connection. */
export interface Peer extends Party {
  /** It came in by an access for edge sites, which carry nothing between others. */
  readonly confined?: boolean;
}

/** What links have of the router that they belong to. */
export interface LinkHost {
  readonly log: Logger;
  readonly self: RouterId;
  readonly siteKey: SiteKey;
  readonly links: Links;
  readonly liveness: Liveness;
  readonly memory: Memory;
  readonly turns: PeerLoopQuotas;
  /** Sockets of closed sessions. */
  readonly closing: AdmissionSlots<Socket>;
  /** For attempts to link. */
  readonly dials: LoopQuota;
  /** For messages of routing, by the owners of connections. */
  readonly messageTime: KeyedCpuBudget;
  readonly hooks: RouterHooks;
  readonly events: LinkEvents;
  /** It lets no new links in. */
  readonly draining: boolean;
  /** What this router says of itself. */
  hello(link: Hello['link']): Hello;
  /** Somebody is not to be let in any more, or not to stay. */
  isRevoked(party: Party): boolean;
  /** A CONNECT came in over any connection. @param from who is at its other end, as far as that is proved; owner whose share of memory it is part of */
  connect(stream: Stream, head: RequestHead, from: Peer, owner: string): StreamHandler;
  /** A message came in on a routing stream. @throws Error to cut the peer off */
  routingMessage(link: Link, message: Buffer): void;
  /** A message came in on a routing stream that only routers of one site send each other. @throws LinkError to cut the peer off */
  siblingMessage(link: Link, message: Buffer): void;
  /** Something that the router's state shows is otherwise. */
  changed(): void;
}
