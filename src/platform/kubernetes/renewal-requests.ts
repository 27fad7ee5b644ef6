/**
 * Requests to renew the certificate of a link now, and their results. Each link has an entry in the renewals ConfigMap, through which a
 * command asks the site's routers. Requests of other sites, which routers write there, have other keys.
 */
import { randomUUID } from 'node:crypto';
import type { RenewalAnswer, RenewalRequests } from '../../agent/ports.ts';
import { renewalAnswerIn } from '../../agent/renewal-answer.ts';
import { RENEW_NOW, RENEWALS } from '../../api/skupper/cluster-names.ts';
import type { KubeClient } from '../../kube/contract.ts';
import { isNotFound } from '../../kube/errors.ts';
import type { ConfigMap } from '../../kube/objects.ts';
import { configMaps } from '../../kube/resource.ts';
import { isResourceName } from '../../text/names.ts';

export interface EntriesOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  /** Returns the ConfigMap as last seen. */
  readonly seen: () => ConfigMap | undefined;
}

/** Maximum number of processed requests. A person waits for each one. */
const MOST_OPEN = 64;
const LONGEST = 16_384;

/** Entries from the view of a router. */
export class RenewalEntries implements RenewalRequests {
  readonly #options: EntriesOptions;
  /** Requests that were answered, by link. They appear open until the watch delivers the answer. */
  readonly #answered = new Map<string, string>();

  constructor(options: EntriesOptions) {
    this.#options = options;
  }

  async open(): Promise<ReadonlySet<string>> {
    const questions = renewalQuestions(this.#options.seen());
    for (const link of this.#answered.keys()) if (!questions.has(link)) this.#answered.delete(link);
    const open = [...questions].filter(([link, text]) => this.#answered.get(link) !== text).map(([link]) => link);
    return new Set(open.slice(0, MOST_OPEN));
  }

  async answer(link: string, answer: RenewalAnswer): Promise<void> {
    const question = renewalQuestions(this.#options.seen()).get(link);
    // The command has stopped waiting and removed its request.
    if (question === undefined) return;
    await putEntry(this.#options, link, JSON.stringify(answer));
    this.#answered.set(link, question);
  }
}

/** Returns requests without an answer, by link. */
export function renewalQuestions(map: ConfigMap | undefined): ReadonlyMap<string, string> {
  const entries = Object.entries(map?.data ?? {}).flatMap(([key, text]) => {
    const link = key.startsWith(RENEW_NOW) ? key.slice(RENEW_NOW.length) : '';
    return isResourceName(link) && text.length <= LONGEST && answerIn(text) === undefined ? [[link, text] as const] : [];
  });
  return new Map(entries);
}

/** Each request has its own ID, so the answer to an earlier request does not match. */
export const newQuestion = (): string => JSON.stringify({ asked: randomUUID() });

/** @returns undefined if there is no answer yet */
export function renewalAnswer(map: Pick<ConfigMap, 'data'> | undefined, link: string): RenewalAnswer | undefined {
  return answerIn(map?.data?.[RENEW_NOW + link] ?? '');
}

/** @param text null removes the entry @returns whether the ConfigMap exists */
export async function putEntry(
  { client, namespace }: Pick<EntriesOptions, 'client' | 'namespace'>,
  link: string,
  text: string | null,
): Promise<boolean> {
  try {
    await client.patch(configMaps, { namespace, name: RENEWALS }, { data: { [RENEW_NOW + link]: text } }, { type: 'merge' });
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

function answerIn(text: string): RenewalAnswer | undefined {
  try {
    return text.length > LONGEST ? undefined : renewalAnswerIn(JSON.parse(text));
  } catch {
    return undefined;
  }
}
