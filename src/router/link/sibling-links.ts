/** States of the links that each router of a site opens, exchanged between these routers: see `docs/protocol.md`, section 6. */
import { isRecord } from '../../text/is-record.ts';
import { isOneLine, printable } from '../../text/printable.ts';
import type { LinkState, RouterState, SiblingLinkState } from '../contract.ts';
import { SIBLING_LINK } from '../wire.ts';
import type { Link } from './link.ts';
import { LinkError } from './link-errors.ts';
import { messageOfType } from './session/framing.ts';

/** Most links of one router. */
export const MOST_SIBLING_LINKS = 4_096;
const MOST_NAME = 300;
const MOST_PROBLEM = 300;

/**
 * Sends a message for each link whose state differs from the last message, so the traffic grows with changes only. The states from a router
 * are dropped with the last link to it.
 */
export class SiblingLinks {
  readonly #site: string;
  readonly #siblings = new Map<Link, Sibling>();

  /** @param site its ID; only routers of this site exchange states */
  constructor(site: string) {
    this.#site = site;
  }

  get state(): Pick<RouterState, 'siblingLinks'> {
    if (this.#siblings.size === 0) return {};
    const heard = [...this.#siblings].map(([{ peer }, { links }]) => [peer.router, Object.fromEntries(links)] as const);
    return { siblingLinks: Object.fromEntries(heard) };
  }

  up(link: Link): void {
    if (link.peer.site.id === this.#site) this.#siblings.set(link, { told: new Map(), links: new Map() });
  }

  down(link: Link): void {
    this.#siblings.delete(link);
  }

  /** @param own current states of the links that this router opens */
  tell(own: () => RouterState['links']): void {
    if (this.#siblings.size === 0) return;
    const now = new Map(Object.entries(own()).map(([name, state]) => [name, written(name, saidOf(state))]));
    for (const [{ routing }, { told }] of this.#siblings) {
      const gone = [...told.keys()].filter((name) => !now.has(name)).map((name) => [name, written(name, {})] as const);
      for (const [name, text] of [...now, ...gone]) {
        if (text === (told.get(name) ?? written(name, {}))) continue;
        if (now.has(name)) told.set(name, text);
        else told.delete(name);
        routing.send(messageOfType(SIBLING_LINK, Buffer.from(text)));
      }
    }
  }

  /** @returns whether anything changed. @throws LinkError if the message is invalid */
  hear(link: Link, message: Buffer): boolean {
    const sibling = this.#siblings.get(link);
    // Other sites may not send this type; it is ignored.
    if (sibling === undefined) return false;
    const { name, state } = readSiblingLink(message);
    if (state === undefined) return sibling.links.delete(name);
    if (!sibling.links.has(name) && sibling.links.size >= MOST_SIBLING_LINKS) return false;
    sibling.links.set(name, state);
    return true;
  }
}

interface Sibling {
  /** Last message sent, by link. */
  readonly told: Map<string, string>;
  readonly links: Map<string, SiblingLinkState>;
}

/** Empty while a link is being opened for the first time: it is neither up nor failed. */
function saidOf({ operational, remoteSiteId, remoteSiteName, problem }: LinkState): object {
  if (operational) return { operational, remoteSiteId, remoteSiteName };
  return problem === undefined ? {} : { operational, problem: printable(problem.message, MOST_PROBLEM) };
}

function written(name: string, said: object): string {
  return JSON.stringify({ link: name, ...said });
}

/** @returns `state` undefined if none is known. @throws LinkError if the message is invalid */
export function readSiblingLink(message: Buffer): { readonly name: string; readonly state: SiblingLinkState | undefined } {
  const value = parsed(message.subarray(1));
  const name = isRecord(value) ? textIn(value['link'], MOST_NAME) : undefined;
  if (!isRecord(value) || name === undefined) throw new LinkError('protocol', 'The peer sent what tells of no link.');
  const { operational } = value;
  if (typeof operational !== 'boolean') return { name, state: undefined };
  const remoteSiteId = textIn(value['remoteSiteId'], MOST_NAME);
  const remoteSiteName = textIn(value['remoteSiteName'], MOST_NAME);
  const problem = typeof value['problem'] === 'string' ? printable(value['problem'], MOST_PROBLEM) : undefined;
  return {
    name,
    state: {
      operational,
      ...(remoteSiteId === undefined ? {} : { remoteSiteId }),
      ...(remoteSiteName === undefined ? {} : { remoteSiteName }),
      ...(problem === undefined ? {} : { problem }),
    },
  };
}

function textIn(value: unknown, most: number): string | undefined {
  return typeof value === 'string' && value !== '' && value.length <= most && isOneLine(value) ? value : undefined;
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return undefined;
  }
}
