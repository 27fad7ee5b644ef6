import { NotReadable } from '../errors/not-readable.ts';
import { messageOf } from '../telemetry/log.ts';
import { printable } from '../text/printable.ts';
import type { Missing } from './contract.ts';

/** Adds why a router was not read. A missing right is the same for all routers, so it is added once. */
export function addMissing(partial: Missing[], router: string, error: unknown): void {
  const missing = { router: error instanceof NotReadable ? '' : router, why: printable(messageOf(error), MOST_CHARACTERS) };
  if (!partial.some((each) => each.router === missing.router && each.why === missing.why)) partial.push(missing);
}

const MOST_CHARACTERS = 512;
