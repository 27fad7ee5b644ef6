import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { openFilesLimit, reserveWithin, socketsWithin } from '../../../src/telemetry/open-files.ts';

function limitIn(text: string): number | undefined {
  const dir = mkdtempSync(join(tmpdir(), 'earshot-limits-'));
  try {
    writeFileSync(join(dir, 'limits'), text);
    return openFilesLimit(join(dir, 'limits'));
  } finally {
    rmSync(dir, { recursive: true });
  }
}

describe('the limit of open files', () => {
  it('is read as the kernel writes it', () => {
    const header = 'Limit                     Soft Limit           Hard Limit           Units     \n';
    assert.equal(limitIn(`${header}Max open files            20000                20000                files     \n`), 20_000);
    assert.equal(limitIn(`${header}Max open files            unlimited            unlimited            files     \n`), Infinity);
    assert.equal(limitIn(header), undefined);
    assert.equal(openFilesLimit('/nowhere/limits'), undefined);
  });

  it('leaves most of it to connections, and something to everything else', () => {
    assert.equal(socketsWithin(1_048_576), 996_147);
    assert.equal(socketsWithin(20_000), 19_000);
    assert.equal(socketsWithin(1_024), 896);
    assert.equal(socketsWithin(64), 16);
    assert.equal(socketsWithin(undefined), Infinity);
  });

  it('leaves the rest to links and unauthenticated, so that none of them takes all of it', () => {
    assert.deepEqual(reserveWithin(1_048_576), { peers: 13_107.25, unauthenticated: 6_554 });
    assert.deepEqual(reserveWithin(300), { peers: 32, unauthenticated: 16 });
    assert.deepEqual(reserveWithin(undefined), { peers: Infinity, unauthenticated: Infinity });
  });
});
