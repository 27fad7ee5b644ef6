import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Directory } from '../../../../src/exposure/csi/directory.ts';
import { writeTree } from '../../../../src/exposure/csi/tree-writer.ts';
import { type Tree } from '../../../../src/exposure/csi/tree.ts';
import { eventually } from '../../../harness/wait.ts';
import { breakAfter, Broken } from './broken-directory.ts';
import type { Report } from './reader.ts';
import { defaultLink, filesOf, hiddenNames, readAsPod, temporaryFolder, tree, write } from './volume-folder.ts';

const one = tree('10.0.0.1', { '10.0.0.1': { http: 30_001 } });
const two = tree('10.0.0.2', { '10.0.0.2': { http: 30_001, https: 30_002 }, 'fd00::2': { http: 30_001 } });

describe('a volume that an earlier system wrote', () => {
  function writeInPlace(mount: string): void {
    mkdirSync(join(mount, 'addresses/10.0.0.1/ports'), { recursive: true });
    writeFileSync(join(mount, 'addresses/10.0.0.1/address'), '10.0.0.1');
    writeFileSync(join(mount, 'addresses/10.0.0.1/ports/http'), '30001');
    symlinkSync('addresses/10.0.0.1', join(mount, 'default-address'));
  }

  it('stays untouched while its addresses are right', async () => {
    using volume = temporaryFolder();
    writeInPlace(volume.path);
    assert.equal(await write(volume.path, one), false);
    assert.ok(lstatSync(join(volume.path, 'addresses')).isDirectory());
    assert.deepEqual(readAsPod(volume.path), filesOf(one));
  });

  it('is taken over at the first change, and leaves nothing after the second', async () => {
    using volume = temporaryFolder();
    writeInPlace(volume.path);
    assert.equal(await write(volume.path, two), true);
    assert.deepEqual(readAsPod(volume.path), filesOf(two));
    assert.equal(defaultLink(volume.path), 'addresses/10.0.0.2');
    assert.equal(await write(volume.path, one), true);
    assert.deepEqual(readAsPod(volume.path), filesOf(one));
    for (const name of hiddenNames(volume.path)) assert.ok(!readdirSync(join(volume.path, name)).includes('10.0.0.3'));
  });

  it('always leads from default-address to a whole folder while it is taken over, wherever the driver dies', async () => {
    for (let limit = 0, isDone = false; !isDone; limit += 1) {
      using volume = temporaryFolder();
      writeInPlace(volume.path);
      isDone = await dieAfter(limit, volume.path, two);
      assertWhole(volume.path, [one, two], `after ${limit} calls`);
      await write(volume.path, two);
      assert.deepEqual(readAsPod(volume.path), filesOf(two), `after ${limit} calls, repaired`);
    }
  });
});

/** Lets the driver die after so many calls of the file system. True where it had done all its work before. */
async function dieAfter(limit: number, mount: string, wanted: Tree): Promise<boolean> {
  await using folder = await Directory.open(mount);
  const { leftBehind } = await writeTree(breakAfter(folder, limit), wanted, { settleMilliseconds: 0 }).catch((error: unknown) => ({
    leftBehind: error,
  }));
  if (leftBehind === undefined) return true;
  assert.ok(leftBehind instanceof Broken, String(leftBehind));
  return false;
}

/** All files behind default-address must be of one state's primary address. */
function assertWhole(mount: string, states: readonly Tree[], message: string): void {
  const folder = join(mount, 'default-address');
  const address = readFileSync(join(folder, 'address'), 'utf8');
  const ports = readdirSync(join(folder, 'ports')).map(
    (name) => [name, Number(readFileSync(join(folder, 'ports', name), 'utf8'))] as const,
  );
  const shown = JSON.stringify([address, ports.toSorted()]);
  const possible = states.map(({ primary, addresses }) => JSON.stringify([primary, [...(addresses.get(primary) ?? [])].toSorted()]));
  assert.ok(possible.includes(shown), `${message}: ${shown} is not one of ${possible.join(' and ')}`);
}

describe('a driver that dies while it writes', () => {
  it('shows nothing or a whole state in a new volume, and the next one finishes', async () => {
    for (let limit = 0, isDone = false; !isDone; limit += 1) {
      using volume = temporaryFolder();
      isDone = await dieAfter(limit, volume.path, two);
      const names = readdirSync(volume.path);
      if (names.includes('default-address')) assert.deepEqual(readAsPod(volume.path), filesOf(two), `after ${limit} calls`);
      await write(volume.path, two);
      assert.deepEqual(readAsPod(volume.path), filesOf(two));
      assert.ok(hiddenNames(volume.path).length <= 2, `${hiddenNames(volume.path).length} generations after ${limit} calls`);
    }
  });

  it('leaves the former or the new state, and the next one finishes and clears up', async () => {
    for (const wanted of [two, tree('10.0.0.1', { '10.0.0.1': { http: 30_005 } })]) {
      for (let limit = 0, isDone = false; !isDone; limit += 1) {
        using volume = temporaryFolder();
        await write(volume.path, one);
        isDone = await dieAfter(limit, volume.path, wanted);
        assertWhole(volume.path, [one, wanted], `after ${limit} calls`);
        await write(volume.path, wanted);
        assert.deepEqual(readAsPod(volume.path), filesOf(wanted));
        assert.ok(hiddenNames(volume.path).length <= 3, `${hiddenNames(volume.path).length} generations after ${limit} calls`);
      }
    }
  });
});

describe('a reader of the volume', () => {
  it('never misses a file and never sees a mixed state, through many changes', async () => {
    using volume = temporaryFolder();
    const state = (round: number): Tree => {
      const number = 1_000 + round;
      const ports = { one: number, two: number };
      const address = `address-${Math.floor(round / 6)}`;
      return tree(address, { [address]: ports, other: ports });
    };
    await write(volume.path, state(0));
    const settle = 100;
    const parameters = [join(import.meta.dirname, 'reader.ts'), volume.path, String(settle)];
    const reader = spawn(process.execPath, parameters, { stdio: ['pipe', 'pipe', 'inherit'] });
    let output = '';
    reader.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
    const closed = once(reader, 'close');
    const moreReads = (count: number): Promise<true> => {
      const wanted = output.length + count;
      return eventually(`${count} reads`, () => output.length >= wanted || reader.exitCode !== null, { everyMs: 5 });
    };
    await moreReads(1);
    for (let round = 1; round <= 24; round += 1) {
      await write(volume.path, state(round), settle);
      // The next state has another address: each is there until it was read.
      if (round % 6 === 5) await moreReads(10);
    }
    reader.stdin.end();
    await closed;
    assert.equal(reader.exitCode, 0, 'the reader ended with an error');
    const report = JSON.parse(output.slice(output.indexOf('\n'))) as Report; // Written by reader.ts, which says that it is one.
    assert.deepEqual(report.wrong, []);
    assert.ok(report.reads > 40, `${report.reads} reads`);
    assert.ok(report.addresses.length >= 4, report.addresses.join(' '));
  });
});
