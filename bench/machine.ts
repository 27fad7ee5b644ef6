import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus, loadavg, release, totalmem } from 'node:os';

/** Properties of the machine that figures depend on. */
export interface Machine {
  readonly date: string;
  readonly commit: string;
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGigabytes: number;
  readonly kernel: string;
  /** The pinned one, which is not always the one that runs this. */
  readonly node: string;
  readonly command: string;
  /** Load of the last minute, before anything was started: other work on this machine. */
  readonly loadBefore: number;
}

/** Reads the load first of all, so call it before anything is started. `folders` of the checkout are what is measured. */
export function describeMachine(command: string, folders: readonly string[]): Machine {
  const [load = 0] = loadavg();
  const [first] = cpus();
  return {
    date: new Date().toISOString().slice(0, 10),
    commit: commit(folders),
    cpu: first?.model.trim() ?? 'unknown',
    cores: cpus().length,
    memoryGigabytes: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    node: pinnedNode(),
    command,
    loadBefore: load,
  };
}

function pinnedNode(): string {
  const manifest = new URL(`../node_modules/node-linux-${process.arch}/package.json`, import.meta.url);
  // A package.json has a version; a missing one shows as such.
  const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { readonly version?: string };
  return version ?? 'unknown';
}

function commit(folders: readonly string[]): string {
  const git = (...args: readonly string[]): string =>
    execFileSync('git', args, { cwd: `${import.meta.dirname}/..`, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  try {
    const isChanged = git('status', '--porcelain', '--untracked-files=no', '--', ...folders) !== '';
    return `${git('rev-parse', '--short', 'HEAD')}${isChanged ? ' with changes' : ''}`;
  } catch {
    return 'unknown (no git here)';
  }
}
