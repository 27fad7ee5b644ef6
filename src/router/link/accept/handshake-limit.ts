import type { Socket } from 'node:net';
import { openFilesLimit, reserveWithin } from '../../../telemetry/open-files.ts';
import { AdmissionSlots } from '../../../limits/admission-slots.ts';
import { handshakeScheduler } from '../../../net/handshake-scheduler.ts';
import { HandshakePace } from '../../../net/handshake-pace.ts';
import { TcpByTls } from '../../../net/tcp-by-tls.ts';
import { hasSentData } from '../../../net/tls-feed.ts';
import { networkOf } from '../../../x509/network.ts';
import { bounded } from '../../../telemetry/boundary.ts';
import { limitTable } from '../../../limits/table.ts';

/** TLS handshakes under way at once, of all and of one address: they are the work that anybody can ask for. */
const MOST = Math.min(limitTable.accessHandshakes.value, reserveWithin(openFilesLimit()).strangers);
const MOST_OF_ADDRESS = limitTable.accessHandshakesOfAddress.value;

/**
 * Lets only so many handshakes run at once: for one more, the oldest of the address that has most of them is ended.
 *
 * Invariant: who waits for its turn has a place, since nobody else closes a connection that waits.
 */
export class HandshakeLimit {
  readonly #places: AdmissionSlots<Socket>;
  readonly #pace = new HandshakePace<Socket>();
  readonly #raws = new TcpByTls();
  /** Of each that has a place. */
  readonly #networks = new Map<Socket, string>();

  /** @param within how many there is memory for */
  constructor(within = Infinity) {
    const most = Math.min(MOST, within);
    this.#places = new AdmissionSlots({ most, mostOfGroup: Math.min(MOST_OF_ADDRESS, most) }, hasSentData);
  }

  /**
   * @param start begins the handshake; called now or soon, unless the connection has ended before
   * @returns the address whose connection was closed for this one
   */
  begin(raw: Socket, start: () => void): string | undefined {
    if (!this.#raws.add(raw)) return undefined;
    const network = networkOf(raw.remoteAddress ?? '');
    const ended = this.#places.enter(raw, network);
    this.#networks.set(raw, network);
    // A peer that leaves in the middle.
    const done = (): void => this.#done(raw);
    raw.once('close', bounded('connection/handshake-closed', done, done));
    const closed = ended === undefined ? undefined : this.#close(ended);
    const shake = (): void => {
      start();
      handshakeScheduler.begin(raw, network);
    };
    this.#pace.enter(raw, network, shake);
    return closed;
  }

  /** TLS is done with the handshake of this connection, of which it has made a socket of its own. It keeps its place. */
  shaken(tls: Socket): void {
    const raw = this.#raws.below(tls);
    if (raw !== undefined) handshakeScheduler.end(raw);
  }

  /** The handshake is over, and all that it stands for. */
  end(tls: Socket): void {
    const raw = this.#raws.below(tls);
    if (raw !== undefined) this.#done(raw);
  }

  #close(raw: Socket): string {
    const address = raw.remoteAddress ?? '';
    this.#done(raw);
    raw.destroy();
    return address;
  }

  #done(raw: Socket): void {
    const network = this.#networks.get(raw);
    if (network === undefined) return;
    this.#networks.delete(raw);
    handshakeScheduler.end(raw);
    this.#places.leave(raw);
    this.#pace.leave(raw, network);
  }
}
