import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url));
/** Receives SIGTERM just before it restarts itself with other flags. */
const TOLD_TO_END = `
  const { execve } = process;
  process.execve = (...given) => {
    process.kill(process.pid, 'SIGTERM');
    return execve.apply(process, given);
  };`;

/** Receives SIGHUP, and SIGTERM as soon as it handles that signal. */
const TOLD_TO_READ = `
  const { once } = process;
  process.once = (name, ...rest) => {
    once.call(process, name, ...rest);
    if (name !== 'SIGTERM') return process;
    process.once = once;
    for (const signal of ['SIGHUP', 'SIGTERM']) process.kill(process.pid, signal);
    return process;
  };`;

describe('a router that is started', () => {
  it('survives a request to read its files again before it has read them', async () => {
    const home = await mkdtemp(join(tmpdir(), 'earshot-starting-'));
    const env = { ...process.env, EARSHOT_HOME: home, EARSHOT_TUNED: '1' };
    const args = ['--import', `data:text/javascript,${encodeURIComponent(TOLD_TO_READ)}`, MAIN, '-n', 'west', 'run', '--http-port=0'];
    const child = spawn(process.execPath, args, { stdio: 'ignore', env });
    try {
      assert.deepEqual(await once(child, 'exit'), [0, null]);
    } finally {
      child.kill('SIGKILL');
      await rm(home, { recursive: true, force: true });
    }
  });

  for (const command of [
    ['-n', 'west', 'run'],
    ['router', '--namespace=west', '--pod=west-0', '--group=west', '--site-uid=uid', '--kubeconfig=/nowhere'],
  ])
    it(`heeds SIGTERM also before it has its flags: ${command.join(' ')}`, async () => {
      const home = await mkdtemp(join(tmpdir(), 'earshot-starting-'));
      const env = { ...process.env, EARSHOT_HOME: home, EARSHOT_TUNED: undefined };
      const args = ['--import', `data:text/javascript,${encodeURIComponent(TOLD_TO_END)}`, MAIN, ...command];
      const child = spawn(process.execPath, args, { stdio: 'ignore', env });
      try {
        assert.deepEqual(await once(child, 'exit'), [null, 'SIGTERM']);
      } finally {
        child.kill('SIGKILL');
        await rm(home, { recursive: true, force: true });
      }
    });
});
