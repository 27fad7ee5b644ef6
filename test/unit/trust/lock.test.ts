import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { acquireLock } from '../../../src/trust/disk/lock.ts';
import { makePlace } from './support/place.ts';
import { refusal } from './support/refusal.ts';

describe('A lock', () => {
  it('is one at a time, however many want it', async () => {
    await using place = await makePlace();
    const path = join(place.path, 'it.lock');
    let inside = 0;
    let most = 0;
    let turns = 0;
    const work = async (): Promise<void> => {
      await using _lock = await acquireLock(path, { waitMilliseconds: 20_000 });
      inside += 1;
      most = Math.max(most, inside);
      // Others get a chance to come in between.
      await readdir(place.path);
      turns += 1;
      inside -= 1;
    };
    await Promise.all(Array.from({ length: 20 }, work));
    assert.deepEqual([most, turns], [1, 20]);
    assert.equal((await readdir(place.path)).length, 1, 'one file is left');
  });

  it('held by another process is refused with its number, and is free once that was killed', async () => {
    await using place = await makePlace();
    const path = join(place.path, 'it.lock');
    const holder = await startHolder(path);
    try {
      await assert.rejects(acquireLock(path), refusal('state-busy', new RegExp(`process ${holder.pid}\\b`)));
    } finally {
      holder.kill('SIGKILL');
      await once(holder, 'exit');
    }
    await using lock = await acquireLock(path, { waitMilliseconds: 5_000 });
    assert.ok(lock);
  });

  it('of a process of the same number, but an earlier one, is free', async () => {
    await using place = await makePlace();
    const path = join(place.path, 'it.lock');
    await using lock = await acquireLock(path);
    const [file = ''] = await readdir(place.path);
    const { readFile } = await import('node:fs/promises');
    const holder = JSON.parse(await readFile(join(place.path, file), 'utf8')) as object;
    await writeFile(join(place.path, 'other.lock.7'), JSON.stringify({ ...holder, start: '1' }));
    await using other = await acquireLock(join(place.path, 'other.lock'));
    assert.ok(lock !== other);
    await writeFile(join(place.path, 'third.lock.7'), JSON.stringify({ ...holder, boot: 'another' }));
    await using third = await acquireLock(join(place.path, 'third.lock'));
    assert.ok(third !== other);
  });

  it('whose holder cannot be seen from here, in another container, is not taken from it', async () => {
    await using place = await makePlace();
    const { readFile } = await import('node:fs/promises');
    await using _lock = await acquireLock(join(place.path, 'it.lock'));
    const holder = JSON.parse(await readFile(join(place.path, 'it.lock.1'), 'utf8')) as object;
    await writeFile(join(place.path, 'other.lock.7'), JSON.stringify({ ...holder, pid: 4_000_000, pidNamespace: 'pid:[1]' }));
    await assert.rejects(acquireLock(join(place.path, 'other.lock')), refusal('state-busy', /4000000/));
  });

  it('that holds nonsense is free', async () => {
    await using place = await makePlace();
    for (const nonsense of ['', '{', 'null', '{"pid":1}', '[]']) {
      const path = join(place.path, `it-${nonsense.length}.lock`);
      await writeFile(`${path}.3`, nonsense);
      await using lock = await acquireLock(path);
      assert.ok(lock);
    }
  });
});

async function startHolder(path: string): Promise<ChildProcess> {
  const program = fileURLToPath(new URL('support/hold-lock.ts', import.meta.url));
  const child = spawn(process.execPath, [program, path], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  return child;
}
