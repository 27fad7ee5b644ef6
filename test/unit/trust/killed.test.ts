import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { openGrantStore } from '../../../src/trust/disk/grant-store.ts';
import { openLedger } from '../../../src/trust/disk/ledger.ts';
import { parseGrant } from '../../../src/trust/disk/grant-file.ts';
import { makePlace } from './support/place.ts';

const program = fileURLToPath(new URL('support/redeem-until-killed.ts', import.meta.url));

describe('A process that is killed while it redeems', () => {
  it('has every reported redemption on disk, and leaves the store to the next process', async () => {
    await using place = await makePlace();
    const reported: string[] = [];
    for (let life = 0; life < 3; life += 1) {
      const child = spawn(process.execPath, [program, place.path], { stdio: ['ignore', 'pipe', 'inherit'] });
      const wanted = reported.length + 3 + life;
      for await (const line of createInterface(child.stdout)) {
        reported.push(line);
        // The point of the kill between the next steps is left to chance.
        if (reported.length === wanted) child.kill('SIGKILL');
      }
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      assert.equal(child.signalCode, 'SIGKILL');
      const record = parseGrant(await readFile(join(place.path, 'grants/g.json'), 'utf8'), 'g');
      assert.deepEqual(
        reported.filter((keyHash) => record?.keyHashes.includes(keyHash) !== true),
        [],
      );
    }
    await using store = await openGrantStore(join(place.path, 'grants'), { ledger: await openLedger(place.path) });
    const count = store.get('g')?.redemptions ?? 0;
    assert.ok(count >= reported.length && count <= reported.length + 3, `${count} of ${reported.length}: at most one more per life`);
  });
});
