import { open } from 'node:fs/promises';
import { eventually, type Cluster } from '../../test/harness/index.ts';
import { callOf, NOTHING, OWN, sum, type Program, type Tally } from './audit-calls.ts';

const CHUNK = 1_048_576;
/** Programs that have sent nothing for this long, in milliseconds, are taken to be done. */
const QUIET = 1_500;
/** How many calls are kept in words. */
const SHOWN = 10;

/** Counts the calls from a moment on, by reading what the audit log grew by. */
export class CallCounter {
  readonly #cluster: Cluster;
  readonly #tallies = new Map<Program, Tally>();
  #offset: number;
  #rest: Buffer = Buffer.alloc(0);
  readonly #first: string[] = [];
  readonly #kinds = new Map<string, number>();
  #lastCall = 0;
  #lastEvent = 0;
  /** A text that ends the waiting for it. */
  #awaited: string | undefined;

  private constructor(cluster: Cluster, offset: number) {
    this.#cluster = cluster;
    this.#offset = offset;
  }

  /** Counts what is asked from now on. What was answered before is not counted, even where the log has it later. */
  static async start(cluster: Cluster): Promise<CallCounter> {
    const before = new CallCounter(cluster, await sizeOf(cluster.auditLog));
    await before.settle();
    return new CallCounter(cluster, before.#offset - before.#rest.length);
  }

  /** Calls of Earshot's own programs together. */
  get own(): Tally {
    return OWN.map((program) => this.of(program)).reduce(sum);
  }

  /** The first writes and reads of all, in words. */
  get first(): readonly string[] {
    return this.#first;
  }

  /** How often each kind of them was asked for, most often first. */
  get kinds(): readonly string[] {
    return [...this.#kinds].toSorted(([, one], [, other]) => other - one).map(([kind, times]) => `${times} × ${kind}`);
  }

  of(program: Program): Tally {
    return this.#tallies.get(program) ?? NOTHING;
  }

  /**
   * Returns once none of the programs has sent anything for a while, renewals of leases and resumed watches apart. Events
   * are written at their own slow pace long after their cause; with `withoutEvents` they are not awaited.
   */
  async quiet(options: { readonly withoutEvents?: boolean } = {}): Promise<void> {
    const begun = performance.now();
    await eventually(
      'Earshot to have nothing left to do',
      async () => {
        await this.#read();
        const last = Math.max(begun, this.#lastCall, options.withoutEvents === true ? 0 : this.#lastEvent);
        if (performance.now() - last >= QUIET) return true;
        throw new Error(`it still calls: ${JSON.stringify(this.own)}`);
      },
      { timeoutMs: 180_000, everyMs: 250 },
    );
    await this.settle();
  }

  /** Returns once everything that was answered before this call is counted. */
  async settle(): Promise<void> {
    const mark = `bench-mark-${process.pid}-${Math.round(performance.now() * 1_000).toString(36)}`;
    this.#awaited = mark;
    await this.#cluster.api.find(`/api/v1/namespaces/default/configmaps/${mark}`);
    await eventually(
      'a request to reach the audit log',
      async () => {
        await this.#read();
        return this.#awaited === undefined;
      },
      { everyMs: 20 },
    );
  }

  async #read(): Promise<void> {
    await using file = await open(this.#cluster.auditLog, 'r');
    for (;;) {
      const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(CHUNK), 0, CHUNK, this.#offset);
      if (bytesRead === 0) return;
      this.#offset += bytesRead;
      this.#take(Buffer.concat([this.#rest, buffer.subarray(0, bytesRead)]));
    }
  }

  #take(bytes: Buffer): void {
    const end = bytes.lastIndexOf(0x0a) + 1;
    this.#rest = bytes.subarray(end);
    for (const line of bytes.toString('utf8', 0, end).split('\n')) {
      if (this.#awaited !== undefined && line.includes(this.#awaited)) this.#awaited = undefined;
      const call = callOf(line);
      if (call === undefined) continue;
      this.#tallies.set(call.program, sum(this.of(call.program), call.counts));
      if (call.counts.writes + call.counts.reads > 0) {
        if (this.#first.length < SHOWN) this.#first.push(call.text);
        this.#kinds.set(call.kind, (this.#kinds.get(call.kind) ?? 0) + 1);
      }
      if (call.counts.events > 0) this.#lastEvent = performance.now();
      else if (call.counts.writes + call.counts.reads > 0) this.#lastCall = performance.now();
    }
  }
}

/** Current end of the log: a place to read from later. */
export async function sizeOf(path: string): Promise<number> {
  await using file = await open(path, 'r');
  return (await file.stat()).size;
}
