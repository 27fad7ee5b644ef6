/** Streams of changes to pages, as server-sent events. */
import type { ServerResponse } from 'node:http';
import { AdmissionSlots } from '../limits/admission-slots.ts';
import { limitTable } from '../limits/table.ts';
import { bounded } from '../telemetry/boundary.ts';
import type { ChangeEvent } from './change-log.ts';
import { topics, type Changes, type Topic } from './contract.ts';
import { failure } from './api.ts';
import { visibleChanges, type Admission, type Permissions } from './permissions.ts';
import type { Watcher } from './watcher.ts';

/** Milliseconds between two comments, which show that the connection lives. */
const COMMENT_EVERY = 15_000;
const MOST = limitTable.consoleStreams.value;
/** Characters. More than a page may be behind could never be sent: the page would be cut, and would ask for the same again. */
const MOST_AT_ONCE = limitTable.consoleBehind.value / 2;

/** Request of a page. */
export interface StreamRequest {
  readonly parameters: URLSearchParams;
  /** ID of the last event that the page has received. */
  readonly lastId: string | undefined;
  readonly admission: Admission;
}

interface Stream {
  readonly response: ServerResponse;
  readonly permissions: Permissions;
  readonly topics: ReadonlySet<Topic>;
  /** IDs of the routing keys on the screen; undefined for all. */
  readonly keys: ReadonlySet<string> | undefined;
}

export class StreamSet {
  readonly #watcher: Watcher;
  readonly #open = new Set<Stream>();
  /** Those of a user form a group. */
  readonly #slots = new AdmissionSlots<Stream>({ most: MOST, mostOfGroup: MOST });
  readonly #subscription: Disposable;
  readonly #timer: NodeJS.Timeout;

  constructor(watcher: Watcher) {
    this.#watcher = watcher;
    this.#subscription = watcher.subscribe((event) => this.#report(event));
    const comment = (): void => {
      for (const stream of this.#open) {
        write(stream, ':\n\n');
        if (stream.permissions.exposure) this.#watcher.useExposure();
      }
    };
    this.#timer = setInterval(bounded('stream/console-comment', comment), COMMENT_EVERY).unref();
  }

  open({ parameters, lastId, admission: { user, permissions } }: StreamRequest, response: ServerResponse): void {
    // The page of an evicted stream connects again, and must not evict another one.
    if (!this.#slots.hasFairSlot(user)) {
      const { status, body } = failure(503, 'too-many-streams', `${MOST} pages are open already`);
      response.writeHead(status, { 'content-type': 'application/json' }).end(`${JSON.stringify(body)}\n`);
      return;
    }
    const named = (parameters.get('topics') ?? topics.join(',')).split(',');
    const keys = parameters.getAll('key').slice(0, limitTable.consoleIds.value);
    const stream = {
      response,
      permissions,
      topics: new Set(topics.filter((topic) => named.includes(topic))),
      keys: keys.length === 0 ? undefined : new Set(keys),
    };
    const leave = (): void => {
      this.#open.delete(stream);
      this.#slots.leave(stream);
    };
    response.on('close', bounded('stream/console-closed', leave, leave));
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    this.#open.add(stream);
    this.#slots.enter(stream, user)?.response.destroy();
    const missed = lastId === undefined ? undefined : this.#watcher.log.after(lastId);
    this.#send(stream, missed?.map((event) => this.#textOf(stream, event)).join(''));
  }

  close(): void {
    clearInterval(this.#timer);
    this.#subscription[Symbol.dispose]();
    for (const { response } of this.#open) response.destroy();
  }

  #report(event: ChangeEvent): void {
    for (const stream of this.#open) this.#send(stream, this.#textOf(stream, event));
  }

  /** Sends events, or `resync` if they are unknown or too long: the page then reads everything again. */
  #send(stream: Stream, text: string | undefined): void {
    const { epoch, last } = this.#watcher.log;
    if (text === undefined || text.length > MOST_AT_ONCE) write(stream, `id: ${epoch}-${last}\nevent: resync\ndata: {}\n\n`);
    else if (text !== '') write(stream, text);
  }

  /** Empty if the event has nothing for the stream. */
  #textOf(stream: Stream, { number, topic, asOf, changes }: ChangeEvent): string {
    if (!stream.topics.has(topic)) return '';
    const chosen = topic === 'keys' && stream.keys !== undefined ? onlyOf(changes, stream.keys) : changes;
    const visible = chosen && visibleChanges(stream.permissions, topic, chosen);
    if (visible === undefined) return '';
    return `id: ${this.#watcher.log.epoch}-${number}\nevent: ${topic}\ndata: ${JSON.stringify({ asOf, changes: visible })}\n\n`;
  }
}

function onlyOf(changes: Changes, ids: ReadonlySet<string>): Changes | undefined {
  const chosen = Object.entries(changes).filter(([id]) => ids.has(id));
  return chosen.length === 0 ? undefined : Object.fromEntries(chosen);
}

/** A page that does not read is cut; it connects again and resumes. */
function write({ response }: Stream, text: string): void {
  if (response.writableLength + text.length > limitTable.consoleBehind.value) response.destroy();
  else response.write(text);
}
