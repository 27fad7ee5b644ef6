import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before } from 'node:test';
import { bundleRevision, hasRevision } from '../../../scripts/bundle-revision.ts';

/** Last release; before the first one, the commit from which 0.1.0 was prepared. */
const PREVIOUS = 'cac9b9ce0872d4206dcc6c397b445f6164badc67';

export interface PreviousProgram {
  /** Why it cannot be built here. */
  readonly skip: string | false;
  /** Path of its bundle while the tests run. */
  readonly program: string;
}

/** Builds the program of the last release before the tests of a file, and removes it after them. */
export async function usePreviousProgram(): Promise<PreviousProgram> {
  if (!(await hasRevision(PREVIOUS))) return { skip: `the history lacks ${PREVIOUS}: git fetch --unshallow`, program: '' };
  const folder = await mkdtemp(path.join(tmpdir(), 'earshot-previous-'));
  const program = `${folder}/earshot.mjs`;
  before(() => bundleRevision(PREVIOUS, program));
  after(() => rm(folder, { recursive: true, force: true }));
  return { skip: false, program };
}
