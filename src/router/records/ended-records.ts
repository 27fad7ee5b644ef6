import type { ConnectionEnd } from '../connection-end.ts';
import type { FailureCode } from '../local/failure.ts';
import type { ConnectionFacts, Half, RecordState } from './contract.ts';
import { StringTable } from './string-table.ts';
import { TextColumn } from './text-column.ts';

/** Most characters of an ID and of an IP address with a zone. */
const [ID_WIDTH, CLIENT_WIDTH] = [32, 46];
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
const TEXTS = ['key', 'origin', 'listener', 'to', 'server', 'end', 'message'] as const;
const HALVES: readonly Half[] = ['first', 'transit', 'last'];
const FAILED = 8;

/** The last ended and failed connections, in columns of numbers: objects would take three times the memory. */
export class EndedRecords {
  readonly #size: number;
  readonly #ids: TextColumn;
  readonly #clients: TextColumn;
  readonly #numbers: Readonly<Record<(typeof NUMBERS)[number], Float64Array>>;
  readonly #texts: Readonly<Record<(typeof TEXTS)[number] | 'via', Uint16Array>>;
  readonly #flags: Uint8Array;
  readonly #strings: StringTable;
  #added = 0;

  /** @param texts number of different texts, at most 65,535 */
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
    const words = (): Uint16Array => new Uint16Array(size);
    this.#texts = {
      key: words(),
      origin: words(),
      listener: words(),
      to: words(),
      server: words(),
      end: words(),
      message: words(),
      via: words(),
    };
    this.#flags = new Uint8Array(size);
    this.#strings = new StringTable(texts);
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
    for (const name of TEXTS) this.#intern(this.#texts[name], index, record[name]);
    this.#intern(this.#texts.via, index, record.via.join(' '));
    const halves = HALVES.reduce((bits, half, bit) => bits | (record.halves.includes(half) ? 1 << bit : 0), 0);
    this.#flags[index] = halves | (record.state === 'failed' ? FAILED : 0);
  }

  state(number: number): EndedRecord['state'] {
    return ((this.#flags[this.#indexOf(number)] ?? 0) & FAILED) === 0 ? 'ended' : 'failed';
  }

  /** @param number from `oldest` to `added` */
  get(number: number): EndedRecord {
    const index = this.#indexOf(number);
    const numberOf = (name: (typeof NUMBERS)[number]): number => this.#numbers[name][index] ?? 0;
    const textOf = (name: (typeof TEXTS)[number] | 'via'): string => this.#strings.get(this.#texts[name][index] ?? 0);
    const flags = this.#flags[index] ?? 0;
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
      // `add` wrote one of these.
      end: textOf('end') as EndedRecord['end'],
      message: textOf('message'),
    };
  }

  #indexOf(number: number): number {
    return (number - 1) % this.#size;
  }

  #intern(column: Uint16Array, index: number, text: string): void {
    this.#strings.release(column[index] ?? 0);
    column[index] = this.#strings.take(text.slice(0, LONGEST));
  }
}
