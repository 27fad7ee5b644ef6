/** The bundle of an earlier revision, to compare with or to run beside the current one. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const ROOT = path.resolve(import.meta.dirname, '..');
const run = promisify(execFile);

/**
 * Builds the bundle of a revision with the packages of this checkout.
 * @param file absolute path of the bundle
 */
export async function bundleRevision(revision: string, file: string): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), 'earshot-revision-'));
  try {
    const archive = `${folder}/archive.tar`;
    const tree = `${folder}/tree`;
    await run('git', ['archive', '--format=tar', '--prefix=tree/', '-o', archive, revision], { cwd: ROOT });
    await run('tar', ['-xf', archive, '-C', folder]);
    await symlink(`${ROOT}/node_modules`, `${tree}/node_modules`);
    await run(process.execPath, ['scripts/bundle.ts', file], { cwd: tree });
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Whether the history of this checkout has the revision. A shallow clone may lack it. */
export async function hasRevision(revision: string): Promise<boolean> {
  return run('git', ['cat-file', '-e', `${revision}^{commit}`], { cwd: ROOT }).then(
    () => true,
    () => false,
  );
}
