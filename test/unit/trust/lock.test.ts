import assert from 'node:assert/strict';
import { readFile, readdir, rm, writeFile } from 'node:fs/promises';
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

  it('makes a process of an earlier version fail as long as it is held', async () => {
    await using place = await makePlace();
    const path = join(place.path, 'it.lock');
    const highest = async (): Promise<string | undefined> => {
      const numbers = (await readdir(place.path)).flatMap((name) => /^it\.lock\.([1-9]\d{0,14})$/.exec(name)?.[1] ?? []);
      return numbers.sort((a, b) => Number(a) - Number(b)).at(-1);
    };
    await writeFile(`${path}.7`, 'free');
    {
      await using _lock = await acquireLock(path);
      await assert.rejects(readFile(`${path}.${await highest()}`), { code: 'EISDIR' });
    }
    assert.equal(await highest(), undefined);
  });

  it('waits for a process of an earlier version that has it, and not for one that is gone', async () => {
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
    const before = performance.now();
    await using _lock = await acquireLock(path);
    assert.ok(performance.now() - before < 1_000);
  });
});
