/** Figures of routing keys, and how they are read from the metrics of a router (pure). */

/** Counts since the router started. */
export interface KeySample {
  opened: number;
  failed: number;
  up: number;
  down: number;
  open: number;
  requests: number;
  errors: number;
  /** Absent without counts: there may be ten thousand keys, and a dozen samples of them. */
  failures?: Map<string, number> | undefined;
  /** Counts by upper bound in milliseconds. */
  connect?: Map<number, number> | undefined;
  request?: Map<number, number> | undefined;
}

/** Counts of a routing key in one role. */
export interface SampleOfKey {
  readonly key: string;
  readonly role: Role;
  readonly sample: KeySample;
}

export interface Sample {
  /** Each key once in each role. */
  readonly keys: Iterable<SampleOfKey>;
  /** Days left, by TLS bundle. */
  readonly certificates: ReadonlyMap<string, number>;
  /** Seconds: p99. */
  readonly eventLoopDelay: number | undefined;
}

export const roles = ['listener', 'connector'] as const;
export type Role = (typeof roles)[number];

/** `listener web` */
const idOf = (role: string, key: string): string => `${role} ${key}`;

const PREFIX = 'earshot_router_';
const OF_HISTOGRAM = /_(?:bucket|sum|count)$/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;
const UNESCAPED: Readonly<Record<string, string>> = { '\\n': '\n', '\\"': '"', '\\\\': '\\' };

/** Characters of a line. Longer ones are left out. */
const MOST_LINE = 8_192;

/** Reads metrics while they arrive: those of ten thousand keys have tens of megabytes. */
export class SampleReader {
  readonly #keys = new Map<string, SampleOfKey>();
  readonly #certificates = new Map<string, number>();
  readonly #most: number;
  #eventLoopDelay: number | undefined;
  /** Beginning of a line. */
  #rest = '';
  /** Whether the line is too long, so that its rest is left out too. */
  #isCut = false;

  /** @param most number of keys; further ones are left out */
  constructor(most: number) {
    this.#most = most;
  }

  /** Content of the complete lines so far. */
  get sample(): Sample {
    return { keys: this.#keys.values(), certificates: this.#certificates, eventLoopDelay: this.#eventLoopDelay };
  }

  read(chunk: string): void {
    const text = this.#rest + chunk;
    let at = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', at)) {
      if (!this.#isCut && end - at <= MOST_LINE) this.#readLine(text.slice(at, end));
      this.#isCut = false;
      at = end + 1;
    }
    this.#isCut ||= text.length - at > MOST_LINE;
    this.#rest = this.#isCut ? '' : text.slice(at);
  }

  #readLine(line: string): void {
    if (!line.startsWith(PREFIX)) return;
    const [brace, space] = [line.indexOf('{'), line.lastIndexOf(' ')];
    const name = line.slice(0, brace === -1 ? space : brace);
    // There are many of these, and `/v1/figures` has finer ones.
    if (OF_HISTOGRAM.test(name)) return;
    const value = Number(line.slice(space + 1));
    if (!Number.isFinite(value)) return;
    const labels = labelsOf(brace === -1 ? '' : line.slice(brace + 1, space - 1));
    if (name === 'earshot_router_certificate_days_left') this.#certificates.set(copied(labels['bundle'] ?? ''), value);
    else if (name === 'earshot_router_event_loop_delay_seconds') {
      if (labels['quantile'] === '0.99') this.#eventLoopDelay = value;
    } else if (labels['routing_key'] !== undefined && Object.hasOwn(readers, name)) {
      const sample = this.#keyOf(labels);
      if (sample !== undefined) readers[name]?.(sample, value, labels);
    }
  }

  #keyOf(labels: Labels): KeySample | undefined {
    // Requests have no role: observers are at listeners.
    const role = roleOf(labels['role'] ?? 'listener');
    if (role === undefined) return undefined;
    const key = labels['routing_key'] ?? '';
    const known = this.#keys.get(idOf(role, key));
    if (known !== undefined || this.#keys.size >= this.#most) return known?.sample;
    const sample = emptySample();
    this.#keys.set(idOf(role, key), { key: copied(key), role, sample });
    return sample;
  }
}

export const roleOf = (text: unknown): Role | undefined => roles.find((role) => role === text);

export const isCount = (value: unknown): value is number => typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER;

export function emptySample(): KeySample {
  return { opened: 0, failed: 0, up: 0, down: 0, open: 0, requests: 0, errors: 0 };
}

type Labels = Readonly<Record<string, string>>;
type Reader = (sample: KeySample, value: number, labels: Labels) => void;

const readers: Readonly<Record<string, Reader>> = {
  earshot_router_connections_opened_total: (sample, value) => void (sample.opened += value),
  earshot_router_connections_open: (sample, value) => void (sample.open += value),
  earshot_router_connections_failed_total: (sample, value, { reason = '' }) => {
    sample.failed += value;
    if (value > 0) add((sample.failures ??= new Map()), copied(reason), value);
  },
  earshot_router_bytes_total: (sample, value, { direction }) => void (sample[direction === 'to_server' ? 'up' : 'down'] += value),
  earshot_router_requests_total: (sample, value, { status = '' }) => {
    sample.requests += value;
    if (status === '5xx') sample.errors += value;
  },
};

function add<K>(to: Map<K, number>, key: K, value: number): void {
  to.set(key, (to.get(key) ?? 0) + value);
}

/** A part of a text keeps the whole text in memory. V8 copies only texts that are put together, as the IDs of keys are. */
const copied = (part: string): string => Buffer.from(part).toString();

function labelsOf(text: string): Labels {
  return Object.fromEntries([...text.matchAll(LABEL)].map(([, name = '', value = '']) => [name, unescaped(value)]));
}

const unescaped = (value: string): string => (value.includes('\\') ? value.replaceAll(/\\./g, (pair) => UNESCAPED[pair] ?? pair) : value);

/** Adds the figures of all routers of a site. */
export function mergeSamples(samples: readonly Sample[]): Sample {
  const [only] = samples;
  if (samples.length === 1 && only !== undefined) return only;
  const keys = new Map<string, SampleOfKey>();
  const certificates = new Map<string, number>();
  for (const sample of samples) {
    for (const { key, role, sample: from } of sample.keys)
      addSample(keys.getOrInsertComputed(idOf(role, key), () => ({ key, role, sample: emptySample() })).sample, from);
    for (const [bundle, days] of sample.certificates) certificates.set(bundle, Math.min(days, certificates.get(bundle) ?? Infinity));
  }
  const delays = samples.flatMap(({ eventLoopDelay }) => eventLoopDelay ?? []);
  return { keys: keys.values(), certificates, eventLoopDelay: delays.length === 0 ? undefined : Math.max(...delays) };
}

export const COUNTS = ['opened', 'failed', 'up', 'down', 'open', 'requests', 'errors'] as const;

function addSample(to: KeySample, from: KeySample): void {
  for (const name of COUNTS) to[name] += from[name];
  to.failures = sumOf(to.failures, from.failures);
  to.connect = sumOf(to.connect, from.connect);
  to.request = sumOf(to.request, from.request);
}

function sumOf<K>(to: Map<K, number> | undefined, from: ReadonlyMap<K, number> | undefined): Map<K, number> | undefined {
  if (from === undefined) return to;
  const sum = to ?? new Map<K, number>();
  for (const [key, value] of from) add(sum, key, value);
  return sum;
}

/** Counts since an earlier sample of the same process. After a restart of the router, its counts begin again at zero. */
export function sinceSample(now: KeySample, before: KeySample | undefined): KeySample {
  if (before === undefined || now.opened < before.opened || now.failed < before.failed || now.up < before.up) return now;
  const difference = emptySample();
  for (const name of COUNTS) difference[name] = Math.max(0, now[name] - before[name]);
  difference.open = now.open;
  difference.failures = changesOf(now.failures, before.failures);
  difference.connect = changesOf(now.connect, before.connect);
  difference.request = changesOf(now.request, before.request);
  return difference;
}

/** @returns undefined if nothing was added */
function changesOf<K>(now: ReadonlyMap<K, number> = new Map(), before: ReadonlyMap<K, number> = new Map()): Map<K, number> | undefined {
  const added = [...now].map(([key, value]) => [key, value - (before.get(key) ?? 0)] as const).filter(([, value]) => value > 0);
  return added.length === 0 ? undefined : new Map(added);
}
