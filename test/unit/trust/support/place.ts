import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Place extends AsyncDisposable {
  readonly path: string;
}

/** A directory of its own for one test. */
export async function makePlace(): Promise<Place> {
  const path = await mkdtemp(join(tmpdir(), 'earshot-pki-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}
