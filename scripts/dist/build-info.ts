/** Commit that a release is built from, and its date. The date of the commit, and not of the build, keeps builds reproducible. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

export interface BuildInfo {
  /** 40 hexadecimal digits; with `-modified` if the checkout has changes. */
  readonly commit: string;
  /** Time of the commit in seconds since the Unix epoch. */
  readonly time: number;
}

const run = promisify(execFile);

/** @throws Error if `folder` is not in a git checkout */
export async function buildInfoOf(folder: string): Promise<BuildInfo> {
  const git = async (...words: readonly string[]): Promise<string> => (await run('git', ['-C', folder, ...words])).stdout.trim();
  const [commit = '', time = ''] = (await git('log', '-1', '--format=%H %ct')).split(' ');
  const changes = await git('status', '--porcelain', '--untracked-files=no');
  return { commit: changes === '' ? commit : `${commit}-modified`, time: Number(time) };
}
