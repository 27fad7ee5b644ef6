import type { Socket } from 'node:net';
import { bounded } from '../telemetry/boundary.ts';
import { readHandleOf } from './node-internals.ts';
import { beginsHarmlessly, feedOf, type Feed } from './tls-feed.ts';
import { limitTable } from '../limits/table.ts';

/** Milliseconds until the next connection is looked at, where none of those that wait has brought anything; the second where that has been so for a while. */
const PAUSE = 2;
const LONG_PAUSE = 10;
/** So many are looked at without a pause: a look takes hundredths of a millisecond, and strangers who say nothing are not to keep newcomers waiting. */
const MANY = 32;
/** So many in a turn, where none has brought anything: else those who have stopped in their midst would keep newcomers waiting for a turn each. */
const LOOKS = 16;
/** Milliseconds after which one that has brought nothing counts as silent. */
const SILENCE = 1_000;
/** Milliseconds of work that any handshake may take. */
const USUAL = limitTable.handshakeWork.value;
/** So many times as long as the rest took whoever caused it waits, and at most so many milliseconds. All others wait as long as it took. */
const WAIT = 10;
const LONGEST_WAIT = limitTable.handshakePause.value;

/** As they are when this is loaded: where a test stops the time of others, handshakes go on. */
const [nextTurn, timer] = [setImmediate, setTimeout];
const later = (run: () => void, milliseconds: number): void => {
  timer(run, milliseconds).unref();
};

/**
 * Who has connected: others to this process, or this one to them; or others to ask one thing, whose connections are read in turn to their ends; or
 * others of whom no certificate is wanted.
 */
export type Side = 'incoming' | 'outgoing' | 'asking' | 'unknown';

interface Group {
  readonly waiting: Set<Socket>;
  /** Those that have said nothing for a while: they have every other look, so that strangers who sit still keep nobody of their address. */
  readonly silent: Set<Socket>;
  isOfSilent: boolean;
  /** None of it is read before. */
  until: number;
}

/** Whose turn it is comes first. */
type Groups = Map<string, Group>;

/** Bytes that a peer may bring until its handshake is over, or in all. Certificates that people use are a quarter of that; servers may name all authorities that they trust. */
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
  /** Bytes that it may still bring. */
  left: number;
  /** When it began, or brought something last. */
  since: number;
  /** Nothing has come yet, and the system may read what does. */
  isNew: boolean;
}

/**
 * Reads connections until their TLS handshakes are over: one in a turn of the event loop, of each side in turn and there of each group, and so many
 * bytes at most.
 *
 * OpenSSL verifies whatever chain it is shown, whoever signed it: it takes 100 KiB, of which the signatures are half a second's work, and names with constraints
 * on them seven seconds', since each is looked at for each. Nobody else is served meanwhile, and Node.js has no bound to set. So it gets less of them.
 * Of what it gets, several do not come together, and between them others have their time: whoever made work waits longer than it took, and those
 * that share its group with it.
 *
 * Where no certificate is wanted, a handshake takes what that of this process does. But a thousand may begin at once, and OpenSSL keeps 128 KiB of
 * what each says first.
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
  /** In turn: strangers, whatever they come for, have every other look at most. */
  readonly #sides = [this.#incoming, this.#outgoing, this.#unknown, this.#outgoing];
  #isScanning = false;
  /** Looks since one that brought something, or a newcomer. */
  #inVain = 0;
  readonly #scanNow = bounded(
    'look/handshake-read',
    () => this.#scan(),
    () => this.#again(PAUSE),
  );

  /** @param now milliseconds, monotonic. @param worked milliseconds that this thread has worked. @param pause calls back after so many */
  constructor(now: () => number = () => performance.now(), worked: () => number = threadTime, pause = later) {
    this.#now = now;
    this.#worked = worked;
    this.#pause = pause;
  }

  /** To be called at once when TLS has taken the connection. @param take reads it */
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
    // TLS begins to read it after this turn's handlers.
    process.nextTick(bounded('connection/handshake-read-stopped', stop, () => void raw.destroy()));
    const closed = (): void => this.end(raw);
    raw.once('close', bounded('connection/handshake-read-closed', closed, closed));
    this.#inVain = 0;
    this.#resume(0);
  }

  /** Its handshake is over: it is read as any other. Also of one that has never begun. */
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
        // The work of our own certificate is nobody's doing.
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
      // Nothing was done for it: the next has this turn.
      if (reading.isNew && wait === 0) this.#scanNow();
      else this.#again(wait);
    };
    const failed = (): void => {
      raw.destroy();
      this.#again(PAUSE);
    };
    // Between a timer, or an immediate, and the next immediate the loop waits for events once.
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
    // Of its end TLS is told as usual.
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

  /** Unless its handshake is over by now. */
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
  const made = { waiting: new Set<Socket>(), silent: new Set<Socket>(), isOfSilent: false, until: 0 };
  groups.set(of, made);
  return made;
}

/** Takes it out of what waits. */
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

/** Of all ports of this process: they share its time. */
export const handshakeScheduler = new HandshakeScheduler();
