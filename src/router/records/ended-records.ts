import { CONNECTION_ENDS, type ConnectionEnd } from '../connection-end.ts';
import { FAILURE_CODES, type FailureCode } from '../local/failure.ts';
import type { ConnectionFacts, Half, RecordState } from './contract.ts';
import { RecentTexts } from './recent-texts.ts';
import { ID_WIDTH, TextColumn } from './text-column.ts';

/** Most characters of an IP address with a zone. */
const CLIENT_WIDTH = 46;
/** Most characters of any other text. A routing key has at most that many. */
const LONGEST = 253;

export interface EndedRecord extends ConnectionFacts {
  readonly state: Exclude<RecordState, 'open'>;
  /** Milliseconds since 1970. */
  readonly begun: number;
  /** Milliseconds from its beginning to its end, to a server's acceptance, and to the server's first byte; NaN: never. */
  readonly duration: number;
  readonly connect: number;
  readonly firstByte: number;
  readonly toServer: number;
  readonly toClient: number;
  readonly end: ConnectionEnd | FailureCode;
  readonly message: string;
  /** Number of connections for which it stands. */
  readonly of: number;
}

const NUMBERS = ['begun', 'duration', 'connect', 'firstByte', 'toServer', 'toClient', 'of'] as const;
const TEXTS = ['key', 'origin', 'listener', 'to', 'server', 'message'] as const;
const ENDS = [...CONNECTION_ENDS, ...FAILURE_CODES] as const;
const HALVES: readonly Half[] = ['first', 'transit', 'last'];
const FAILED = 8;
const OF_PEER = 16;

/** The last ended and failed connections, in columns of numbers: objects would take three times the memory. */
export class EndedRecords {
  readonly #size: number;
  readonly #ids: TextColumn;
  readonly #clients: TextColumn;
  readonly #numbers: Readonly<Record<(typeof NUMBERS)[number], Float64Array>>;
  readonly #texts: Readonly<Record<(typeof TEXTS)[number] | 'via', Uint32Array>>;
  readonly #ends: Uint8Array;
  readonly #flags: Uint8Array;
  /** Texts of clients of this router's Listeners. */
  readonly #ownTexts: RecentTexts;
  /** Texts of streams. Peers can name as many keys, sites and routers as they like, and must not evict the others. */
  readonly #peerTexts: RecentTexts;
  #added = 0;

  /** @param texts number of different texts in each of the two tables */
  constructor(size: number, texts: number) {
    this.#size = size;
    this.#ids = new TextColumn(size, ID_WIDTH);
    this.#clients = new TextColumn(size, CLIENT_WIDTH);
    const numbers = (): Float64Array => new Float64Array(size);
    this.#numbers = {
      begun: numbers(),
      duration: numbers(),
      connect: numbers(),
      firstByte: numbers(),
      toServer: numbers(),
      toClient: numbers(),
      of: numbers(),
    };
    const words = (): Uint32Array => new Uint32Array(size);
    this.#texts = { key: words(), origin: words(), listener: words(), to: words(), server: words(), message: words(), via: words() };
    this.#ends = new Uint8Array(size);
    this.#flags = new Uint8Array(size);
    this.#ownTexts = new RecentTexts(texts);
    this.#peerTexts = new RecentTexts(texts);
  }

  /** Number of records added so far. */
  get added(): number {
    return this.#added;
  }

  /** Number of the oldest record that is still here; records count from 1. */
  get oldest(): number {
    return Math.max(1, this.#added - this.#size + 1);
  }

  /** Whether the next record replaces the oldest. */
  get isFull(): boolean {
    return this.#added >= this.#size;
  }

  add(record: EndedRecord): void {
    const index = this.#added % this.#size;
    this.#added += 1;
    this.#ids.set(index, record.id);
    this.#clients.set(index, record.client);
    for (const name of NUMBERS) this.#numbers[name][index] = record[name];
    const isOfPeer = record.listener === '';
    const texts = isOfPeer ? this.#peerTexts : this.#ownTexts;
    for (const name of TEXTS) this.#texts[name][index] = texts.numberOf(record[name].slice(0, LONGEST));
    this.#texts.via[index] = texts.numberOf(record.via.join(' ').slice(0, LONGEST));
    this.#ends[index] = ENDS.indexOf(record.end);
    const halves = HALVES.reduce((bits, half, bit) => bits | (record.halves.includes(half) ? 1 << bit : 0), 0);
    this.#flags[index] = halves | (record.state === 'failed' ? FAILED : 0) | (isOfPeer ? OF_PEER : 0);
  }

  state(number: number): EndedRecord['state'] {
    return ((this.#flags[this.#indexOf(number)] ?? 0) & FAILED) === 0 ? 'ended' : 'failed';
  }

  /** @param number from `oldest` to `added` */
  get(number: number): EndedRecord {
    const index = this.#indexOf(number);
    const numberOf = (name: (typeof NUMBERS)[number]): number => this.#numbers[name][index] ?? 0;
    const flags = this.#flags[index] ?? 0;
    const texts = (flags & OF_PEER) === 0 ? this.#ownTexts : this.#peerTexts;
    const textOf = (name: (typeof TEXTS)[number] | 'via'): string => texts.textOf(this.#texts[name][index] ?? 0);
    return {
      id: this.#ids.get(index),
      key: textOf('key'),
      state: this.state(number),
      halves: HALVES.filter((_, bit) => (flags & (1 << bit)) !== 0),
      origin: textOf('origin'),
      client: this.#clients.get(index),
      listener: textOf('listener'),
      via: textOf('via').split(' ').filter(Boolean),
      to: textOf('to'),
      server: textOf('server'),
      begun: numberOf('begun'),
      duration: numberOf('duration'),
      connect: numberOf('connect'),
      firstByte: numberOf('firstByte'),
      toServer: numberOf('toServer'),
      toClient: numberOf('toClient'),
      of: numberOf('of'),
      end: ENDS[this.#ends[index] ?? 0] ?? 'orderly',
      message: textOf('message'),
    };
  }

  #indexOf(number: number): number {
    return (number - 1) % this.#size;
  }
}
