import assert from 'node:assert/strict';
import { readFile, readdir, readlink, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { acquireLock } from '../../../src/trust/disk/lock.ts';
import { makePlace } from './support/place.ts';
import { refusal } from './support/refusal.ts';

describe("The lock of a site's trust", () => {
  it('is refused with the number of the process that has it', async () => {
    await using place = await makePlace();
    const path = join(place.path, 'it.lock');
    await using _lock = await acquireLock(path);
    await assert.rejects(acquireLock(path), refusal('state-busy', new RegExp(`process ${process.pid}\\b`)));
  });

  it('is held by this process in the eyes of an earlier version, which has a higher number left after a crash', async () => {
    await using place = await makePlace();
    const path = join(place.path, 'it.lock');
    const numbers = async (): Promise<readonly string[]> =>
      (await readdir(place.path)).flatMap((name) => /^it\.lock\.([1-9]\d{0,14})$/.exec(name)?.[1] ?? []);
    await writeFile(`${path}.7`, 'free');
    {
      await using _lock = await acquireLock(path);
      const [number = '', ...others] = await numbers();
      assert.deepEqual(others, []);
      const holder: unknown = JSON.parse(await readFile(`${path}.${number}`, 'utf8'));
      const stat = await readFile(`/proc/${process.pid}/stat`, 'utf8');
      const start = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
      const boot = (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
      assert.deepEqual(holder, { pid: process.pid, start, boot, pidNamespace: await readlink('/proc/self/ns/pid') });
      assert.match(String(Number(number) + 1), /^[1-9]\d{0,14}$/);
    }
    assert.deepEqual(await numbers(), []);
  });

  it('waits for a process of an earlier version that has it, and not for one that is gone', async (t) => {
    await using place = await makePlace();
    const path = join(place.path, 'it.lock');
    await writeFile(`${path}.7`, JSON.stringify({ pid: process.pid }));
    let isHeld = true;
    setTimeout(() => {
      isHeld = false;
      void rm(`${path}.7`);
    }, 50);
    {
      await using _lock = await acquireLock(path);
      assert.equal(isHeld, false);
    }
    await writeFile(`${path}.8`, JSON.stringify({ pid: 2 ** 30 }));
    const pauses = t.mock.method(globalThis, 'setTimeout');
    await using _lock = await acquireLock(path);
    assert.equal(pauses.mock.callCount(), 0);
  });
});
