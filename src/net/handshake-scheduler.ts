import type { Socket } from 'node:net';
import { bounded } from '../telemetry/boundary.ts';
import { readHandleOf } from './node-internals.ts';
import { beginsHarmlessly, feedOf, type Feed } from './tls-feed.ts';
import { limitTable } from '../limits/table.ts';

/** Milliseconds until the next connection is checked if no waiting one had data, and the longer pause once that lasts. */
const PAUSE = 2;
const LONG_PAUSE = 10;
/**
 * Number of connections checked without a pause. A check takes hundredths of a millisecond, and silent clients must not delay new ones.
 */
const MANY = 32;
/**
 * Number of connections without data checked in one event-loop iteration. Otherwise each stalled handshake would delay new ones by an
 * iteration.
 */
const LOOKS = 16;
/** Milliseconds without data after which a connection counts as silent. */
const SILENCE = 1_000;
/** Milliseconds of work that any handshake may cause. */
const USUAL = limitTable.handshakeWork.value;
/**
 * A group that causes more work pauses for this multiple of the excess, up to a maximum in milliseconds. All other groups pause for the
 * excess itself.
 */
const WAIT = 10;
const LONGEST_WAIT = limitTable.handshakePause.value;

/** Captured at load time, so that handshakes continue in tests that mock timers. */
const [nextTurn, timer] = [setImmediate, setTimeout];
const later = (run: () => void, milliseconds: number): void => {
  timer(run, milliseconds).unref();
};

/**
 * Direction of a connection. `incoming`: accepted. `outgoing`: dialed by this process. `asking`: accepted for one request, and read
 * round-robin until it ends. `unknown`: accepted, without a request for a client certificate.
 */
export type Side = 'incoming' | 'outgoing' | 'asking' | 'unknown';

interface Group {
  readonly waiting: Set<Socket>;
  /** Connections that have been silent for a while. They get every other check, so they cannot block others of the same address. */
  readonly silent: Set<Socket>;
  isOfSilent: boolean;
  /** Time before which no connection of the group is read. */
  until: number;
}

/** Groups by name, the next one to be read first. */
type Groups = Map<string, Group>;

/**
 * Maximum number of bytes from a peer until its handshake ends, or in all for `asking`. Usual certificates need a quarter of that;
 * servers may list all their trusted authorities.
 */
const MOST_BYTES: { readonly [side in Side]: number } = {
  incoming: limitTable.handshakeBytes.value,
  outgoing: limitTable.dialedHandshakeBytes.value,
  asking: limitTable.dialedHandshakeBytes.value,
  unknown: limitTable.handshakeBytes.value,
};

const WHAT: { readonly [side in Side]: string } = { incoming: 'handshake', outgoing: 'handshake', asking: 'request', unknown: 'handshake' };

interface Reading {
  readonly side: Side;
  readonly groups: Groups;
  readonly of: string;
  readonly take: Feed;
  /** Number of bytes that the peer may still send. */
  left: number;
  /** Time of the start, or of the last data. */
  since: number;
  /** Whether no data has arrived yet, and the system may read the first data. */
  isNew: boolean;
}

/**
 * Reads connections until their TLS handshakes end: one in each event-loop iteration, and up to a maximum number of bytes each. The order
 * is round-robin by side, and within a side by group.
 *
 * OpenSSL verifies any chain it receives, even an untrusted one. A chain of 100 KiB can take half a second for signatures. Name
 * constraints can take seven seconds, since each name is checked against each. Nothing else runs meanwhile, and Node.js has no limit for
 * it. So OpenSSL gets fewer bytes, in separate iterations. A group that causes much work pauses longer than that work took.
 *
 * Without client certificates, a handshake costs only this process's own part. But a thousand may start at once, and OpenSSL keeps 128
 * KiB of the first data of each.
 */
export class HandshakeScheduler {
  readonly #now: () => number;
  readonly #worked: () => number;
  readonly #pause: (run: () => void, milliseconds: number) => void;
  readonly #readings = new Map<Socket, Reading>();
  readonly #incoming: Groups = new Map();
  readonly #outgoing: Groups = new Map();
  readonly #unknown: Groups = new Map();
  readonly #groupsOf: { readonly [side in Side]: Groups } = {
    incoming: this.#incoming,
    outgoing: this.#outgoing,
    asking: this.#incoming,
    unknown: this.#unknown,
  };
  /** Order of the sides. Accepted connections of any kind get at most every other check. */
  readonly #sides = [this.#incoming, this.#outgoing, this.#unknown, this.#outgoing];
  #isScanning = false;
  /** Number of checks since the last one with data or the last new connection. */
  #inVain = 0;
  readonly #scanNow = bounded(
    'look/handshake-read',
    () => this.#scan(),
    () => this.#again(PAUSE),
  );

  /**
   * @param now monotonic milliseconds
   * @param worked CPU time of this thread in milliseconds
   * @param pause calls back after that many milliseconds
   */
  constructor(now: () => number = () => performance.now(), worked: () => number = threadTime, pause = later) {
    this.#now = now;
    this.#worked = worked;
    this.#pause = pause;
  }

  /** Must be called right after TLS has taken the connection. @param take reads it */
  begin(raw: Socket, of: string, side: Side = 'incoming', take: Feed | undefined = feedOf(raw)): void {
    if (take === undefined) return;
    this.#readings.set(raw, {
      side,
      groups: this.#groupsOf[side],
      of,
      take,
      left: MOST_BYTES[side],
      since: this.#now(),
      isNew: beginsHarmlessly(raw),
    });
    const stop = (): void => this.#stop(raw);
    // TLS starts reading after the handlers of this iteration.
    process.nextTick(bounded('connection/handshake-read-stopped', stop, () => void raw.destroy()));
    const closed = (): void => this.end(raw);
    raw.once('close', bounded('connection/handshake-read-closed', closed, closed));
    this.#inVain = 0;
    this.#resume(0);
  }

  /** Called when the handshake has ended: the system reads the connection from now on. No-op if it never began. */
  end(raw: Socket): void {
    const reading = this.#readings.get(raw);
    if (reading === undefined) return;
    this.#readings.delete(raw);
    const group = reading.groups.get(reading.of);
    group?.waiting.delete(raw);
    group?.silent.delete(raw);
    if (!raw.destroyed) readHandleOf(raw)?.readStart();
  }

  #resume(wait: number): void {
    if (this.#isScanning) return;
    this.#isScanning = true;
    if (wait > 0) this.#pause(this.#scanNow, wait);
    else nextTurn(this.#scanNow);
  }

  #waitInVain(): number {
    this.#inVain += 1;
    if (this.#inVain % Math.min(MANY, this.#readings.size) > 0) return 0;
    return this.#inVain < MANY ? PAUSE : LONG_PAUSE;
  }

  #again(wait: number): void {
    this.#isScanning = false;
    if (this.#readings.size > 0) this.#resume(wait);
  }

  #scan(): void {
    let wait = 0;
    for (let looks = 0; looks < LOOKS && wait === 0; looks += 1) {
      const next = this.#next();
      const reading = next === undefined ? undefined : this.#readings.get(next);
      if (next !== undefined && reading?.isNew === true) {
        this.#readFirst(next, reading);
        return;
      }
      if (next !== undefined && reading !== undefined) {
        const since = this.#worked();
        const bytes = this.#take(next, reading);
        const beyond = Math.max(0, this.#worked() - since - USUAL);
        // Work for our own certificate is not caused by the group.
        if (beyond > 0 && reading.side !== 'unknown') groupAt(reading).until = this.#now() + Math.min(beyond * WAIT, LONGEST_WAIT);
        if (bytes > 0) {
          this.#inVain = 0;
          this.#again(beyond);
          return;
        }
      }
      wait = this.#waitInVain();
    }
    this.#again(wait);
  }

  #readFirst(raw: Socket, reading: Reading): void {
    const read = raw.bytesRead;
    readHandleOf(raw)?.readStart();
    const looked = (): void => {
      reading.isNew = raw.bytesRead === read;
      if (!reading.isNew) {
        this.#inVain = 0;
        reading.since = this.#now();
      }
      this.#stop(raw);
      const wait = reading.isNew ? this.#waitInVain() : 0;
      // No work was done, so the next connection is read in this iteration.
      if (reading.isNew && wait === 0) this.#scanNow();
      else this.#again(wait);
    };
    const failed = (): void => {
      raw.destroy();
      this.#again(PAUSE);
    };
    // Between a timer or an immediate and the next immediate, the event loop polls for events once.
    nextTurn(bounded('look/handshake-has-read', looked, failed));
  }

  #take(raw: Socket, reading: Reading): number {
    let bytes: number | undefined;
    try {
      bytes = reading.take(reading.left);
    } catch (error) {
      raw.destroy();
      throw error;
    }
    // TLS receives the end of the connection in the usual way.
    if (bytes === undefined) this.end(raw);
    reading.left -= bytes ?? 0;
    if (!this.#readings.has(raw)) return bytes ?? 0;
    if ((bytes ?? 0) > 0) reading.since = this.#now();
    if (reading.left > 0) this.#wait(raw, reading);
    else raw.destroy(Object.assign(new Error(`the ${WHAT[reading.side]} has more bytes than it needs`), { code: 'EMSGSIZE' }));
    return bytes ?? 0;
  }

  #next(): Socket | undefined {
    this.#sides.push(...this.#sides.splice(0, 1));
    const now = this.#now();
    for (const groups of this.#sides) {
      const next = nextOf(groups, now);
      if (next !== undefined) return next;
    }
    return undefined;
  }

  /** Stops reading, unless the handshake has ended. */
  #stop(raw: Socket): void {
    const reading = this.#readings.get(raw);
    if (reading === undefined) return;
    readHandleOf(raw)?.readStop();
    this.#wait(raw, reading);
  }

  #wait(raw: Socket, reading: Reading): void {
    const { waiting, silent } = groupAt(reading);
    (this.#now() - reading.since < SILENCE ? waiting : silent).add(raw);
  }
}

function groupAt({ groups, of }: Reading): Group {
  const known = groups.get(of);
  if (known !== undefined) return known;
  const created = { waiting: new Set<Socket>(), silent: new Set<Socket>(), isOfSilent: false, until: 0 };
  groups.set(of, created);
  return created;
}

/** Removes and returns the next connection to read. */
function nextOf(groups: Groups, now: number): Socket | undefined {
  for (const [of, group] of groups) {
    if (group.until > now) continue;
    group.isOfSilent = !group.isOfSilent;
    const [first, second] = group.isOfSilent ? [group.silent, group.waiting] : [group.waiting, group.silent];
    const [raw] = first.size > 0 ? first : second;
    groups.delete(of);
    if (raw === undefined) continue;
    groups.set(of, group);
    first.delete(raw);
    second.delete(raw);
    return raw;
  }
  return undefined;
}

const threadTime = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};

/** Shared by all ports of this process, since they share its CPU time. */
export const handshakeScheduler = new HandshakeScheduler();
