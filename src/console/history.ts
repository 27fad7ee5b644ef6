/**
 * History of figures in a fixed amount of memory: 10 s steps for 30 minutes, 1 minute for 6 hours, 15 minutes for 48 hours. Sums of a
 * coarse step equal those of its fine steps.
 */
import type { SeriesView } from './contract.ts';

/** Seconds of a step, and number of steps. */
export const historySteps = [
  { seconds: 10, count: 180 },
  { seconds: 60, count: 360 },
  { seconds: 900, count: 192 },
] as const;

/** How a coarser step combines values: their sum, the last one or the largest one. */
export const historyFields = {
  opened: 'sum',
  failed: 'sum',
  open: 'gauge',
  up: 'sum',
  down: 'sum',
  requests: 'sum',
  errors: 'sum',
  connectP50: 'milliseconds',
  connectP95: 'milliseconds',
  connectP99: 'milliseconds',
} as const satisfies Readonly<Record<string, SeriesView['unit']>>;

export type HistoryField = keyof typeof historyFields;
export type Point = Readonly<Partial<Record<HistoryField, number>>>;

/** Fields of an object without a full history. They have the step of one minute only. */
const BASIC: readonly HistoryField[] = ['opened', 'failed', 'open'];
// The table is keyed by field.
const FULL = Object.keys(historyFields) as readonly HistoryField[];

/** Bytes of one object: values, and about 1 KiB for the objects around them. */
export const FULL_BYTES = FULL.length * historySteps.reduce((sum, { count }) => sum + count * 4, 0) + 1024;
export const BASIC_BYTES = BASIC.length * historySteps[1].count * 4 + 1024;
/** Objects with a full history, if the memory suffices. */
const MOST_FULL = 1000;

export class History {
  /** The least recently active first. */
  readonly #full = new Map<string, Track>();
  readonly #basic = new Map<string, Track>();
  readonly #bytes: number;

  /** @param bytes memory that all series may use */
  constructor(bytes: number) {
    this.#bytes = bytes;
  }

  /** Bytes in use. */
  get bytes(): number {
    return this.#full.size * FULL_BYTES + this.#basic.size * BASIC_BYTES;
  }

  /**
   * Adds what was counted since the last call.
   * @param time milliseconds since 1970
   * @returns false if the memory for history is used up
   */
  add(id: string, time: number, point: Point): boolean {
    const track = this.#trackOf(id, (point.opened ?? 0) + (point.failed ?? 0) + (point.open ?? 0) > 0);
    track?.add(time, point);
    return track !== undefined;
  }

  /** @returns undefined if the object or the field has no history with that step */
  read(id: string, field: HistoryField, step: number, from: number, to: number): SeriesView | undefined {
    const points = (this.#full.get(id) ?? this.#basic.get(id))?.read(field, step, from, to);
    return points === undefined ? undefined : { of: `${id}:${field}`, step, unit: historyFields[field], points };
  }

  /** Values of one step, by object. @param number of the step, counted from 1970 */
  *step(seconds: number, number: number): Iterable<readonly [id: string, point: Point]> {
    for (const tracks of [this.#full, this.#basic]) {
      for (const [id, track] of tracks) {
        const point = track.at(seconds, number);
        if (point !== undefined) yield [id, point];
      }
    }
  }

  /** Adds a step that an earlier process measured. Steps of the same length come in their order, those of 900 s first. */
  restore(id: string, seconds: number, number: number, point: Point): void {
    // Only full histories have steps of other lengths.
    this.#trackOf(id, seconds !== historySteps[1].seconds)?.restore(seconds, number, point);
  }

  #trackOf(id: string, active: boolean): Track | undefined {
    const full = this.#full.get(id);
    if (full !== undefined) {
      if (active) this.#use(id, full);
      return full;
    }
    const basic = this.#basic.get(id);
    if (active && this.#hasRoomForFull(basic === undefined ? 0 : BASIC_BYTES)) {
      const track = new Track(FULL, historySteps);
      if (basic !== undefined) track.copy(basic);
      this.#basic.delete(id);
      this.#use(id, track);
      return track;
    }
    if (basic !== undefined) return basic;
    if (this.bytes + BASIC_BYTES > this.#bytes) return undefined;
    const track = new Track(BASIC, [historySteps[1]]);
    this.#basic.set(id, track);
    return track;
  }

  #hasRoomForFull(freed: number): boolean {
    return this.#full.size < MOST_FULL && this.bytes - freed + FULL_BYTES <= this.#bytes;
  }

  #use(id: string, track: Track): void {
    this.#full.delete(id);
    this.#full.set(id, track);
  }
}

interface Ring {
  readonly seconds: number;
  /** Number of steps. */
  readonly count: number;
  /** The steps of one field after those of another: an array for each field would cost as much memory again. */
  readonly values: Float32Array;
  /** Number of the newest step, counted from 1970. */
  newest: number;
}

type Steps = (typeof historySteps)[number];

/** History of one object. */
class Track {
  readonly #fields: readonly HistoryField[];
  readonly #rings: readonly Ring[];

  constructor(fields: readonly HistoryField[], steps: readonly Steps[]) {
    this.#fields = fields;
    this.#rings = steps.map(({ seconds, count }) => {
      return { seconds, count, values: new Float32Array(fields.length * count).fill(NaN), newest: -1 };
    });
  }

  add(time: number, point: Point): void {
    for (const ring of this.#rings) this.#put(ring, Math.floor(time / 1000 / ring.seconds), point);
  }

  restore(seconds: number, number: number, point: Point): void {
    const ring = this.#ringOf(seconds);
    if (ring !== undefined) this.#put(ring, number, point);
  }

  copy(from: Track): void {
    for (const { seconds, count, values, newest } of from.#rings) {
      const ring = this.#ringOf(seconds);
      if (ring === undefined) continue;
      ring.newest = newest;
      for (const [index, field] of from.#fields.entries())
        ring.values.set(values.subarray(index * count, (index + 1) * count), this.#fields.indexOf(field) * count);
    }
  }

  read(field: HistoryField, step: number, from: number, to: number): SeriesView['points'] | undefined {
    const [ring, index] = [this.#ringOf(step), this.#fields.indexOf(field)];
    if (ring === undefined || index === -1) return undefined;
    const { count, newest, seconds } = ring;
    const first = Math.max(Math.floor(from / 1000 / seconds), newest - count + 1, 0);
    const last = Math.min(Math.floor(to / 1000 / seconds), newest);
    return Array.from({ length: Math.max(0, last - first + 1) }, (_, at) => {
      const value = valueAt(ring, index, first + at);
      return [(first + at) * seconds * 1000, Number.isNaN(value) ? null : value] as const;
    });
  }

  /** @returns undefined if nothing was measured */
  at(seconds: number, number: number): Point | undefined {
    const ring = this.#ringOf(seconds);
    if (ring === undefined) return undefined;
    const known = this.#fields
      .map((field, index) => [field, valueAt(ring, index, number)] as const)
      .filter(([, value]) => !Number.isNaN(value));
    return known.length === 0 ? undefined : Object.fromEntries(known);
  }

  #ringOf(step: number): Ring | undefined {
    return this.#rings.find(({ seconds }) => seconds === step);
  }

  #put(ring: Ring, number: number, point: Point): void {
    const { values, count, newest } = ring;
    if (number < newest - 1) {
      // The clock was ahead and has been set back. Steps of the future would keep all later ones out.
      clear(ring, number + 1, newest);
      ring.newest = number;
    } else if (number > newest) {
      clear(ring, newest + 1, number);
      ring.newest = number;
    }
    for (const [index, field] of this.#fields.entries()) {
      const value = point[field];
      if (value === undefined) continue;
      const cell = index * count + (ring.newest % count);
      values[cell] = combine(values[cell] ?? NaN, value, historyFields[field]);
    }
  }
}

/** Clears steps that the ring has cells for. */
function clear({ values, count }: Ring, first: number, last: number): void {
  for (let each = Math.max(first, last - count + 1); each <= last; each += 1)
    for (let cell = each % count; cell < values.length; cell += count) values[cell] = NaN;
}

/** NaN if nothing was measured, or the ring no longer has the step. */
function valueAt({ values, count, newest }: Ring, index: number, number: number): number {
  if (number > newest || number <= newest - count) return NaN;
  return values[index * count + (number % count)] ?? NaN;
}

function combine(before: number, value: number, unit: SeriesView['unit']): number {
  if (Number.isNaN(before) || unit === 'gauge') return value;
  return unit === 'sum' ? before + value : Math.max(before, value);
}
