/** Numbers the changes of what the console shows, so that a page receives only differences and can resume (pure). */
import type { Changes, Topic } from './contract.ts';

export interface ChangeEvent {
  readonly number: number;
  readonly topic: Topic;
  readonly asOf: string;
  readonly changes: Changes;
}

type Objects = ReadonlyMap<string, object>;

export interface ChangeLogLimits {
  /** Number of kept events, and of changed objects in them. */
  readonly events: number;
  readonly objects: number;
}

export class ChangeLog {
  readonly #limits: ChangeLogLimits;
  readonly #now = new Map<Topic, Objects>();
  readonly #kept: ChangeEvent[] = [];
  /** Differs after a restart, so that a page never resumes with numbers of an earlier process. */
  readonly epoch: string;
  #last = 0;
  /** Number of changed objects in the kept events. */
  #objects = 0;

  constructor(limits: ChangeLogLimits, epoch: string) {
    this.#limits = limits;
    this.epoch = epoch;
  }

  get last(): number {
    return this.#last;
  }

  objects(topic: Topic): Objects {
    return this.#now.get(topic) ?? new Map<string, object>();
  }

  /** @returns the event, or undefined if nothing has changed */
  update(topic: Topic, objects: Objects, asOf: string): ChangeEvent | undefined {
    const before = this.#now.get(topic);
    this.#now.set(topic, objects);
    const changes = differences(before ?? new Map<string, object>(), objects);
    if (changes === undefined) return undefined;
    this.#last += 1;
    const event = { number: this.#last, topic, asOf, changes };
    this.#kept.push(event);
    this.#objects += sizeOf(event);
    while (this.#kept.length > this.#limits.events || this.#objects > this.#limits.objects) {
      const oldest = this.#kept.shift();
      if (oldest === undefined) break;
      this.#objects -= sizeOf(oldest);
    }
    return event;
  }

  /** @returns the events after that one; undefined if the log has dropped some, or if another process assigned the ID */
  after(id: string): readonly ChangeEvent[] | undefined {
    const [, epoch, number] = /^(\w+)-(\d{1,15})$/.exec(id) ?? [];
    const from = Number(number);
    const first = this.#kept[0]?.number ?? this.#last + 1;
    if (epoch !== this.epoch || from > this.#last || from + 1 < first) return undefined;
    return this.#kept.filter((event) => event.number > from);
  }
}

const sizeOf = ({ changes }: ChangeEvent): number => Object.keys(changes).length;

/** Changed fields by ID; undefined if there are none. */
export function differences(before: Objects, now: Objects): Changes | undefined {
  const changes: Record<string, Readonly<Record<string, unknown>> | null> = Object.create(null);
  let any = false;
  for (const [id, object] of now) {
    const old = before.get(id);
    if (old === object) continue;
    const fields = changedFields(old, object);
    if (fields === undefined) continue;
    changes[id] = fields;
    any = true;
  }
  for (const id of before.keys()) {
    if (now.has(id)) continue;
    changes[id] = null;
    any = true;
  }
  return any ? changes : undefined;
}

/** @returns undefined if no field of a known object has changed */
function changedFields(known: object | undefined, now: object): Readonly<Record<string, unknown>> | undefined {
  const [before, fields]: [object, Record<string, unknown>] = [known ?? {}, {}];
  for (const name of Object.keys(now)) {
    const value: unknown = Reflect.get(now, name);
    if (!isEqual(own(before, name), value)) fields[name] = value;
  }
  for (const name of Object.keys(before)) if (!Object.hasOwn(now, name)) fields[name] = null;
  return known !== undefined && Object.keys(fields).length === 0 ? undefined : fields;
}

const own = (object: object, name: string): unknown => (Object.hasOwn(object, name) ? Reflect.get(object, name) : undefined);

/** Whether both are the same JSON. */
export function isEqual(one: unknown, other: unknown): boolean {
  if (one === other || Object.is(one, other)) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  const names = Object.keys(one);
  if (Array.isArray(one) !== Array.isArray(other) || names.length !== Object.keys(other).length) return false;
  return names.every((name) => Object.hasOwn(other, name) && isEqual(Reflect.get(one, name), Reflect.get(other, name)));
}
