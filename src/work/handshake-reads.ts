import type { Socket } from 'node:net';
import { bounded } from '../telemetry/boundary.ts';
import { readHandleOf } from './read-handle.ts';

/** Milliseconds until the next connection is looked at, where none of those that wait has brought anything; the second where that has been so for a while. */
const PAUSE = 2;
const LONG_PAUSE = 10;
/** So many are looked at without a pause: a look takes hundredths of a millisecond, and strangers who say nothing are not to keep newcomers waiting. */
const MANY = 32;
/** Milliseconds of work that any handshake may take. */
const USUAL = 5;
/** Milliseconds that the worst certificates take for each byte: what a turn takes longer is others' doing. */
const MOST_OF_BYTE = 8 / 1_024;
/** What a peer shows whose certificate is trusted: only where it is more, it may be what took long. */
const USUAL_BYTES = 8_192;
/** So many times as long as the rest took whoever caused it waits, and at most so many milliseconds. All others wait as long as it took. */
const WAIT = 10;
const LONGEST_WAIT = 10_000;

/** As they are when this is loaded: where a test stops the time of others, handshakes go on. */
const [nextTurn, timer] = [setImmediate, setTimeout];
const later = (run: () => void, milliseconds: number): void => {
  timer(run, milliseconds).unref();
};

/** Who has connected: others to this process, or this one to them. */
export type Side = 'incoming' | 'outgoing';

interface Group {
  readonly waiting: Set<Socket>;
  /** None of it is read before. */
  until: number;
}

/** Whose turn it is comes first. */
type Groups = Map<string, Group>;

interface Place {
  readonly groups: Groups;
  readonly of: string;
}

/**
 * Reads connections whose peers are to show a certificate until they have: one in a turn of the event loop, of each side in turn, and there of each group.
 *
 * OpenSSL verifies all signatures of the chain that it is shown, whoever signed it: a stranger's 100 KiB take half a second, in which nobody else is
 * served, and Node.js has no bound to set. So several such do not come together, and between them others have their time: whoever made work
 * waits longer than it took, and those that share its group with it.
 */
export class HandshakeReads {
  readonly #now: () => number;
  readonly #worked: () => number;
  readonly #pause: (run: () => void, milliseconds: number) => void;
  readonly #placeOf = new Map<Socket, Place>();
  readonly #groupsOf: { readonly [side in Side]: Groups } = { incoming: new Map(), outgoing: new Map() };
  #sides = this.#inOrder();
  #isLooking = false;
  /** Whose handshake ended last with a certificate that is trusted. */
  #trusted: Socket | undefined;
  /** Looks since one that brought something, or a newcomer. */
  #inVain = 0;
  readonly #lookNow = bounded(
    'look/handshake-read',
    () => this.#look(),
    () => this.#again(PAUSE),
  );

  /** @param now milliseconds, monotonic. @param worked milliseconds that this thread has worked. @param pause calls back after so many */
  constructor(now: () => number = () => performance.now(), worked: () => number = threadTime, pause = later) {
    this.#now = now;
    this.#worked = worked;
    this.#pause = pause;
  }

  /** To be called at once when TLS has taken the connection. */
  begin(raw: Socket, of: string, side: Side = 'incoming'): void {
    if (readHandleOf(raw) === undefined) return;
    this.#placeOf.set(raw, { groups: this.#groupsOf[side], of });
    const stop = (): void => this.#stop(raw);
    // TLS begins to read it after this turn's handlers.
    process.nextTick(bounded('connection/handshake-read-stopped', stop, () => void raw.destroy()));
    const closed = (): void => this.end(raw);
    raw.once('close', bounded('connection/handshake-read-closed', closed, closed));
    this.#inVain = 0;
    if (!this.#isLooking) this.#sides = this.#inOrder();
    this.#goOn(0);
  }

  /** Its handshake is over: it is read as any other. Also of one that has never begun. @param isTrusted its peer's certificate is */
  end(raw: Socket, isTrusted = false): void {
    const place = this.#placeOf.get(raw);
    if (place === undefined) return;
    if (isTrusted) this.#trusted = raw;
    this.#placeOf.delete(raw);
    const waited = place.groups.get(place.of)?.waiting.delete(raw);
    if (waited === true && !raw.destroyed) readHandleOf(raw)?.readStart();
  }

  #inOrder(): Groups[] {
    return [this.#groupsOf.incoming, this.#groupsOf.outgoing];
  }

  #goOn(wait: number): void {
    if (this.#isLooking) return;
    this.#isLooking = true;
    if (wait > 0) this.#pause(this.#lookNow, wait);
    else nextTurn(this.#lookNow);
  }

  #waitInVain(): number {
    this.#inVain += 1;
    if (this.#inVain % Math.min(MANY, this.#placeOf.size) > 0) return 0;
    return this.#inVain < MANY ? PAUSE : LONG_PAUSE;
  }

  #again(wait: number): void {
    this.#isLooking = false;
    if (this.#placeOf.size > 0) this.#goOn(wait);
  }

  #look(): void {
    const next = this.#next();
    const handle = next === undefined ? undefined : readHandleOf(next.raw);
    if (next === undefined || handle === undefined) {
      this.#again(this.#waitInVain());
      return;
    }
    const { raw, place } = next;
    const [read, since] = [handle.bytesRead, this.#worked()];
    handle.readStart();
    const looked = (): void => {
      const bytes = handle.bytesRead - read;
      const costly = this.#trusted === raw ? bytes - USUAL_BYTES : bytes;
      this.#trusted = undefined;
      const beyond = Math.max(0, Math.min(this.#worked() - since, costly * MOST_OF_BYTE) - USUAL);
      if (beyond > 0) groupAt(place).until = this.#now() + Math.min(beyond * WAIT, LONGEST_WAIT);
      this.#stop(raw);
      if (bytes > 0) this.#inVain = 0;
      this.#again(bytes > 0 ? beyond : this.#waitInVain());
    };
    const failed = (): void => {
      raw.destroy();
      this.#again(PAUSE);
    };
    // Between a timer, or an immediate, and the next immediate the loop waits for events once.
    nextTurn(bounded('look/handshake-has-read', looked, failed));
  }

  #next(): { readonly raw: Socket; readonly place: Place } | undefined {
    this.#sides.reverse();
    const now = this.#now();
    for (const groups of this.#sides) {
      const next = nextOf(groups, now);
      if (next !== undefined) return next;
    }
    return undefined;
  }

  /** Unless its handshake is over by now. */
  #stop(raw: Socket): void {
    const place = this.#placeOf.get(raw);
    if (place === undefined) return;
    readHandleOf(raw)?.readStop();
    groupAt(place).waiting.add(raw);
  }
}

function groupAt({ groups, of }: Place): Group {
  const known = groups.get(of);
  if (known !== undefined) return known;
  const made = { waiting: new Set<Socket>(), until: 0 };
  groups.set(of, made);
  return made;
}

/** Takes it out of what waits. */
function nextOf(groups: Groups, now: number): { readonly raw: Socket; readonly place: Place } | undefined {
  for (const [of, group] of groups) {
    if (group.until > now) continue;
    const [raw] = group.waiting;
    groups.delete(of);
    if (raw === undefined) continue;
    groups.set(of, group);
    group.waiting.delete(raw);
    return { raw, place: { groups, of } };
  }
  return undefined;
}

const threadTime = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};

/** Of all ports of this process: they share its time. */
export const handshakeReads = new HandshakeReads();
