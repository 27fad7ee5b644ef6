import { randomUUID } from 'node:crypto';

/** A name that is hidden from a pod's `ls` and `*`, and that nobody else has used or can guess. */
export function freshName(): string {
  return `..${randomUUID()}`;
}
