import type { Link } from './link.ts';
import { messageOfType } from './session/framing.ts';

/** Most reports of one router. */
export const MOST_SIBLING_REPORTS = 4_096;
/** Most characters of a name, and of a problem's message. */
export const MOST_REPORTED_NAME = 300;
export const MOST_REPORTED_PROBLEM = 300;

/** Message that reports one state, or that there is nothing (more) to report. */
export interface ReportFormat<Own, Heard> {
  /** Type of the message. */
  readonly type: number;
  /** @param own undefined if it no longer exists @returns JSON */
  write(name: string, own: Own | undefined): string;
  /** @throws LinkError if the message is invalid */
  read(message: Buffer): { readonly name: string; readonly state: Heard | undefined };
}

/**
 * States that each router of a site reports to the others. Sends a message for each state that differs from the last message, so the traffic
 * grows with changes only. The states from a router are dropped with the last link to it.
 */
export class SiblingReports<Own, Heard> {
  readonly #site: string;
  readonly #format: ReportFormat<Own, Heard>;
  readonly #siblings = new Map<Link, Sibling<Heard>>();

  /** @param site its ID; only routers of this site exchange reports */
  constructor(site: string, format: ReportFormat<Own, Heard>) {
    this.#site = site;
    this.#format = format;
  }

  /** Received states by router and name, for each router with a link; undefined without any. */
  get received(): Readonly<Record<string, Readonly<Record<string, Heard>>>> | undefined {
    if (this.#siblings.size === 0) return undefined;
    return Object.fromEntries([...this.#siblings].map(([{ peer }, { received }]) => [peer.router, Object.fromEntries(received)] as const));
  }

  up(link: Link): void {
    if (link.peer.site.id === this.#site) this.#siblings.set(link, { sent: new Map(), received: new Map() });
  }

  down(link: Link): void {
    this.#siblings.delete(link);
  }

  /** @param own current states of this router */
  report(own: () => Readonly<Record<string, Own>>): void {
    if (this.#siblings.size === 0) return;
    const { type } = this.#format;
    const nothing = (name: string): string => this.#format.write(name, undefined);
    const now = new Map(Object.entries(own()).map(([name, state]) => [name, this.#format.write(name, state)]));
    for (const [{ routing }, { sent }] of this.#siblings) {
      const gone = [...sent.keys()].filter((name) => !now.has(name)).map((name) => [name, nothing(name)] as const);
      for (const [name, text] of [...now, ...gone]) {
        if (text === (sent.get(name) ?? nothing(name))) continue;
        if (now.has(name)) sent.set(name, text);
        else sent.delete(name);
        routing.send(messageOfType(type, Buffer.from(text)));
      }
    }
  }

  /** @returns whether anything changed. @throws LinkError if the message is invalid */
  receive(link: Link, message: Buffer): boolean {
    const sibling = this.#siblings.get(link);
    // Other sites may not send this type; it is ignored.
    if (sibling === undefined) return false;
    const { name, state } = this.#format.read(message);
    if (state === undefined) return sibling.received.delete(name);
    if (!sibling.received.has(name) && sibling.received.size >= MOST_SIBLING_REPORTS) return false;
    sibling.received.set(name, state);
    return true;
  }
}

interface Sibling<Heard> {
  /** Last message sent, by name. */
  readonly sent: Map<string, string>;
  readonly received: Map<string, Heard>;
}

/** @returns the JSON value behind the message's type; undefined if it is invalid */
export function parseReport(message: Buffer): unknown {
  try {
    return JSON.parse(message.subarray(1).toString());
  } catch {
    return undefined;
  }
}
