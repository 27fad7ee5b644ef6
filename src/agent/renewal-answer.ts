import { isRecord } from '../text/is-record.ts';
import type { RenewalAnswer } from './ports.ts';

/** @returns undefined if the content is not an answer: the request is still open */
export function renewalAnswerIn(content: unknown): RenewalAnswer | undefined {
  if (!isRecord(content)) return undefined;
  const { refused, serial, before, until } = content;
  if (refused !== undefined) return typeof refused === 'string' ? { refused } : undefined;
  if (typeof serial !== 'string' || typeof before !== 'string' || typeof until !== 'string') return undefined;
  return { serial, before, until };
}
