import type { Socket } from 'node:net';
import type { Logger } from '../../telemetry/log.ts';
import type { RouterHooks, SiteKey } from '../contract.ts';
import type { RequestHead, Stream, StreamHandler } from '../../http2/contract.ts';
import type { RouterId } from '../../routing/contract.ts';
import type { Party } from '../../identity/revocation.ts';
import type { Hello } from './session/hello.ts';
import type { Link, LinkEvents } from './link.ts';
import type { Links } from './links.ts';
import type { Liveness } from './session/liveness.ts';
import type { Memory } from '../../memory/memory.ts';
import type { AdmissionSlots } from '../../limits/admission-slots.ts';
import type { LoopQuota, PeerLoopQuotas } from '../../limits/loop/loop-quota.ts';
import type { KeyedCpuBudget } from '../../limits/cpu-budget.ts';

/** Identity of the other end of a connection. */
export interface Peer extends Party {
  /** Whether it came in by an access for edge sites, which carry nothing between others. */
  readonly confined?: boolean;
}

/** Parts of the router that links use. */
export interface LinkHost {
  readonly log: Logger;
  readonly self: RouterId;
  readonly siteKey: SiteKey;
  readonly links: Links;
  readonly liveness: Liveness;
  readonly memory: Memory;
  readonly turns: PeerLoopQuotas;
  /** Slots for sockets of closed sessions. */
  readonly closing: AdmissionSlots<Socket>;
  /** Event-loop quota of link attempts. */
  readonly dials: LoopQuota;
  /** CPU-time budget of routing messages, by owner of the connection. */
  readonly messageTime: KeyedCpuBudget;
  readonly hooks: RouterHooks;
  readonly events: LinkEvents;
  /** Whether new links are refused. */
  readonly draining: boolean;
  /** Creates this router's hello. */
  hello(link: Hello['link']): Hello;
  /** Whether the party may not connect or stay connected. */
  isRevoked(party: Party): boolean;
  /**
   * Handles a CONNECT from any connection. @param from proved identity of the other end. @param owner whose fair share of memory it counts
   * against
   */
  connect(stream: Stream, head: RequestHead, from: Peer, owner: string): StreamHandler;
  /** Handles a message of a routing stream. @throws Error to disconnect the peer */
  routingMessage(link: Link, message: Buffer): void;
  /** Handles a message of a routing stream that only routers of one site exchange. @throws LinkError to disconnect the peer */
  siblingMessage(link: Link, message: Buffer): void;
  /** Called after a change that the router's state shows. */
  changed(): void;
}
