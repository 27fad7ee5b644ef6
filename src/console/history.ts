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
  readonly values: Float32Array;
  /** Number of the newest step, counted from 1970. */
  newest: number;
}

/** History of one object. */
class Track {
  readonly #rings = new Map<HistoryField, readonly Ring[]>();

  constructor(fields: readonly HistoryField[], steps: readonly { readonly seconds: number; readonly count: number }[]) {
    for (const field of fields) {
      this.#rings.set(
        field,
        steps.map(({ seconds, count }) => ({ seconds, values: new Float32Array(count).fill(NaN), newest: -1 })),
      );
    }
  }

  add(time: number, point: Point): void {
    for (const [field, rings] of this.#rings) {
      const value = point[field];
      if (value !== undefined) for (const ring of rings) addTo(ring, time, value, historyFields[field]);
    }
  }

  copy(from: Track): void {
    for (const [field, rings] of from.#rings) {
      const target = this.#rings.get(field) ?? [];
      for (const ring of rings) {
        const to = target.find(({ seconds }) => seconds === ring.seconds);
        to?.values.set(ring.values);
        if (to !== undefined) to.newest = ring.newest;
      }
    }
  }

  read(field: HistoryField, step: number, from: number, to: number): SeriesView['points'] | undefined {
    const ring = this.#rings.get(field)?.find(({ seconds }) => seconds === step);
    if (ring === undefined) return undefined;
    const { values, newest, seconds } = ring;
    const first = Math.max(Math.floor(from / 1000 / seconds), newest - values.length + 1, 0);
    const last = Math.min(Math.floor(to / 1000 / seconds), newest);
    return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => {
      const value = values[(first + index) % values.length] ?? NaN;
      return [(first + index) * seconds * 1000, Number.isNaN(value) ? null : value] as const;
    });
  }
}

function addTo(ring: Ring, time: number, value: number, unit: SeriesView['unit']): void {
  const { values, seconds } = ring;
  const number = Math.floor(time / 1000 / seconds);
  // A clock that went back changes no past step.
  if (number < ring.newest) return;
  for (let each = Math.max(ring.newest + 1, number - values.length + 1); each <= number; each += 1) values[each % values.length] = NaN;
  ring.newest = number;
  const at = number % values.length;
  const before = values[at] ?? NaN;
  if (Number.isNaN(before) || unit === 'gauge') values[at] = value;
  else values[at] = unit === 'sum' ? before + value : Math.max(before, value);
}
