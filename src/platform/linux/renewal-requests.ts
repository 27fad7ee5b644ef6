/**
 * Requests to renew the certificate of a link now, and their results: one file for each link, through which a command asks the running
 * process. They are in `internal/` itself, which the running process watches.
 */
import { join } from 'node:path';
import type { RenewalAnswer, RenewalRequests } from '../../agent/ports.ts';
import { realDisk } from '../../files/disk.ts';
import { readText, removeFile, writeDurably } from '../../files/durable.ts';
import type { AskedRenewals } from '../resources.ts';
import { requireResourceName, type NamespaceLayout } from './layout.ts';
import { renewalAnswerIn } from '../../agent/renewal-answer.ts';
import { isRecord } from '../../text/is-record.ts';
import { isResourceName } from '../../text/names.ts';

/** Also used by commands. */
export class RenewalRequestFiles implements RenewalRequests, AskedRenewals {
  readonly #directory: string;

  constructor({ internal }: NamespaceLayout) {
    this.#directory = internal.root;
  }

  ask(link: string): Promise<void> {
    return this.#write(link, {});
  }

  async open(): Promise<ReadonlySet<string>> {
    const open = new Set<string>();
    for (const file of await realDisk.names(this.#directory)) {
      const [, link = ''] = /^renew-(.+)\.json$/.exec(file) ?? [];
      if (!isResourceName(link)) continue;
      // Commands write only readable files, so ignore an unreadable one.
      const content = await this.#read(link).catch(() => undefined);
      if (isRecord(content) && renewalAnswerIn(content) === undefined) open.add(link);
    }
    return open;
  }

  answer(link: string, answer: RenewalAnswer): Promise<void> {
    return this.#write(link, answer);
  }

  /** @returns undefined if there is no answer yet */
  async answerTo(link: string): Promise<RenewalAnswer | undefined> {
    return renewalAnswerIn(await this.#read(link));
  }

  drop(link: string): Promise<void> {
    return removeFile(this.#pathOf(link));
  }

  #pathOf(link: string): string {
    requireResourceName(link, 'Link');
    return join(this.#directory, `renew-${link}.json`);
  }

  async #write(link: string, content: object): Promise<void> {
    await writeDurably(this.#pathOf(link), `${JSON.stringify(content)}\n`, 0o600);
  }

  async #read(link: string): Promise<unknown> {
    return JSON.parse((await readText(this.#pathOf(link), { bytes: 16_384 })) ?? 'null');
  }
}
