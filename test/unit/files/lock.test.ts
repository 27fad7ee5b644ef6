import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { DatabaseSync } from 'node:sqlite';
import { isLocked, lockWithin, tryLock } from '../../../src/files/lock.ts';
import { aDirectory } from '../platform/support.ts';

test('a lock is held by one process at a time, and can be taken again after its release', async (t) => {
  const path = join(await aDirectory(t), 'it.lock');
  const first = tryLock(path);
  assert.ok(first);
  assert.equal(tryLock(path), undefined);
  first[Symbol.dispose]();
  using second = tryLock(path);
  assert.ok(second);
});

test('a check of whether a lock is held does not take it', async (t) => {
  const path = join(await aDirectory(t), 'it.lock');
  assert.equal(isLocked(path), false);
  tryLock(path)?.[Symbol.dispose]();
  const looker = new DatabaseSync(path, { readOnly: true });
  looker.exec('BEGIN; SELECT 1 FROM sqlite_schema');
  assert.equal(isLocked(path), false);
  looker.close();
  using _lock = tryLock(path);
  assert.equal(isLocked(path), true);
});

test('a lock has one holder at a time, and each of many waiting ones gets it', async (t) => {
  const path = join(await aDirectory(t), 'it.lock');
  let inside = 0;
  let most = 0;
  let turns = 0;
  const work = async (): Promise<void> => {
    using _lock = await lockWithin(path, 20_000);
    inside += 1;
    most = Math.max(most, inside);
    // Others get a chance to come in between.
    await new Promise(setImmediate);
    turns += 1;
    inside -= 1;
  };
  await Promise.all(Array.from({ length: 20 }, work));
  assert.deepEqual([most, turns], [1, 20]);
});

test('a lock that another process has is refused with its number, and is free once that was killed', async (t) => {
  const path = join(await aDirectory(t), 'it.lock');
  const holder = await startHolder(path);
  try {
    assert.equal(tryLock(path), undefined);
    await assert.rejects(lockWithin(path, 30), { code: 'state-busy', message: new RegExp(`held by process ${holder.pid}:`) });
  } finally {
    holder.kill('SIGKILL');
    await once(holder, 'exit');
  }
  using lock = tryLock(path);
  assert.ok(lock);
});

test('a lock where none can be made says so', () => {
  assert.throws(() => tryLock('/nowhere/it.lock'), { code: 'state-unavailable', message: /\/nowhere\/it\.lock cannot be taken/ });
});

async function startHolder(path: string): Promise<ChildProcess> {
  const program = fileURLToPath(new URL('hold-lock.ts', import.meta.url));
  const child = spawn(process.execPath, [program, path], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  return child;
}
