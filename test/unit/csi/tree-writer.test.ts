import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { lstatSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync, rmSync, chmodSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { Directory } from '../../../src/csi/directory.ts';
import { writeTree } from '../../../src/csi/tree-writer.ts';
import { isSegment, type Tree } from '../../../src/csi/tree.ts';
import { breakAfter, breakWhen, Broken } from './broken-directory.ts';
import type { Report } from './reader.ts';
import { defaultLink, filesOf, hiddenNames, readAsPod, temporaryFolder, tree } from './volume-folder.ts';

async function write(mount: string, wanted: Tree, settle = 0): Promise<boolean> {
  await using folder = await Directory.open(mount);
  const { isChanged, leftBehind } = await writeTree(folder, wanted, settle);
  assert.equal(leftBehind, undefined);
  return isChanged;
}

const one = tree('10.0.0.1', { '10.0.0.1': { http: 30_001 } });
const two = tree('10.0.0.2', { '10.0.0.2': { http: 30_001, https: 30_002 }, 'fd00::2': { http: 30_001 } });

describe('a volume', () => {
  it('has exactly the files of the layout, without line ends, and a link with exactly that text', async () => {
    using volume = temporaryFolder();
    await write(volume.path, two);
    assert.deepEqual(readAsPod(volume.path), {
      'addresses/10.0.0.2/address': '10.0.0.2',
      'addresses/10.0.0.2/ports/http': '30001',
      'addresses/10.0.0.2/ports/https': '30002',
      'addresses/fd00::2/address': 'fd00::2',
      'addresses/fd00::2/ports/http': '30001',
      'default-address/address': '10.0.0.2',
      'default-address/ports/http': '30001',
      'default-address/ports/https': '30002',
    });
    assert.equal(defaultLink(volume.path), 'addresses/10.0.0.2');
    assert.deepEqual(readdirSync(volume.path).filter((name) => !name.startsWith('..')).toSorted(), ['addresses', 'default-address']);
  });

  it('has a folder for ports where there are none', async () => {
    using volume = temporaryFolder();
    await write(volume.path, tree('a', { a: {} }));
    assert.deepEqual(readdirSync(join(volume.path, 'default-address', 'ports')), []);
  });

  it('is not written again where nothing differs', async () => {
    using volume = temporaryFolder();
    assert.equal(await write(volume.path, two), true);
    const before = lstatSync(join(volume.path, 'addresses')).ino;
    assert.equal(await write(volume.path, two), false);
    assert.equal(lstatSync(join(volume.path, 'addresses')).ino, before);
  });

  it('can be read by anybody, whatever the umask of the driver', async () => {
    using volume = temporaryFolder();
    const umask = process.umask(0o177);
    try {
      await write(volume.path, two);
    } finally {
      process.umask(umask);
    }
    const mode = (path: string): number => statSync(join(volume.path, path)).mode & 0o777;
    assert.equal(mode('addresses'), 0o755);
    assert.equal(mode('default-address'), 0o755);
    assert.equal(mode('default-address/ports'), 0o755);
    assert.equal(mode('default-address/address'), 0o644);
    assert.equal(mode('default-address/ports/http'), 0o644);
  });

  it('is repaired where the pod broke it', async () => {
    const damages: Record<string, (mount: string) => void> = {
      'a file changed': (mount) => writeFileSync(join(mount, 'default-address/ports/http'), '1'),
      'a file removed': (mount) => rmSync(join(mount, 'default-address/address')),
      'a file added': (mount) => writeFileSync(join(mount, 'addresses/10.0.0.2/more'), ''),
      'an address added': (mount) => mkdirSync(join(mount, 'addresses/evil')),
      'a huge file': (mount) => writeFileSync(join(mount, 'default-address/ports/http'), '1'.repeat(100_000)),
      'a link removed': (mount) => rmSync(join(mount, 'addresses')),
      'both links removed': (mount) => ['addresses', 'default-address'].forEach((name) => rmSync(join(mount, name))),
      'a folder for a link': (mount) => {
        rmSync(join(mount, 'default-address'));
        mkdirSync(join(mount, 'default-address/x'), { recursive: true });
      },
      'a file for a link': (mount) => {
        rmSync(join(mount, 'addresses'));
        writeFileSync(join(mount, 'addresses'), '');
      },
      'a link elsewhere': (mount) => {
        rmSync(join(mount, 'addresses'));
        symlinkSync('/etc', join(mount, 'addresses'));
      },
      'everything removed': (mount) => readdirSync(mount).forEach((name) => rmSync(join(mount, name), { recursive: true })),
    };
    for (const [what, damage] of Object.entries(damages)) {
      using volume = temporaryFolder();
      await write(volume.path, two);
      damage(volume.path);
      assert.equal(await write(volume.path, two), true, what);
      assert.deepEqual(readAsPod(volume.path), filesOf(two), what);
      assert.equal(defaultLink(volume.path), 'addresses/10.0.0.2', what);
    }
  });

  it('leaves alone what the pod wrote beside our files', async () => {
    using volume = temporaryFolder();
    writeFileSync(join(volume.path, 'mine'), 'x');
    await write(volume.path, one);
    await write(volume.path, two);
    assert.equal(readFileSync(join(volume.path, 'mine'), 'utf8'), 'x');
  });

  it('keeps what the last state consisted of, so that a reader inside can finish, and nothing older', async () => {
    using volume = temporaryFolder();
    await write(volume.path, one);
    assert.equal(hiddenNames(volume.path).length, 1);
    const [first = ''] = hiddenNames(volume.path);
    await write(volume.path, two);
    assert.ok(hiddenNames(volume.path).includes(first));
    await write(volume.path, one);
    assert.ok(!hiddenNames(volume.path).includes(first));
    for (let round = 0; round < 5; round += 1) await write(volume.path, round % 2 === 0 ? two : one);
    assert.equal(hiddenNames(volume.path).length, 3);
  });
});

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
  const { leftBehind } = await writeTree(breakAfter(folder, limit), wanted, 0).catch((error: unknown) => ({ leftBehind: error }));
  if (leftBehind === undefined) return true;
  assert.ok(leftBehind instanceof Broken, String(leftBehind));
  return false;
}

/** What is behind default-address must be all of one state's primary address. */
function assertWhole(mount: string, states: readonly Tree[], message: string): void {
  const folder = join(mount, 'default-address');
  const address = readFileSync(join(folder, 'address'), 'utf8');
  const ports = readdirSync(join(folder, 'ports')).map((name) => [name, Number(readFileSync(join(folder, 'ports', name), 'utf8'))] as const);
  const shown = JSON.stringify([address, ports.toSorted()]);
  const possible = states.map(({ primary, addresses }) => JSON.stringify([primary, [...(addresses.get(primary) ?? [])].toSorted()]));
  assert.ok(possible.includes(shown), `${message}: ${shown} is none of ${possible.join(' and ')}`);
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

describe('a volume that cannot be written', () => {
  it('does not grow with every try, and stays readable', async () => {
    using volume = temporaryFolder();
    await write(volume.path, one);
    const before = hiddenNames(volume.path);
    for (const broken of ['rename', 'makeLink', 'makeFile']) {
      for (let round = 0; round < 3; round += 1) {
        await using folder = await Directory.open(volume.path);
        await assert.rejects(writeTree(breakWhen(folder, (method) => method === broken), two, 0), Broken);
        assert.deepEqual(hiddenNames(volume.path), before, broken);
        assert.deepEqual(readAsPod(volume.path), filesOf(one));
      }
    }
  });
});

describe('a hostile pod', () => {
  it('cannot lead the driver out of its volume by links', async () => {
    using outside = temporaryFolder();
    writeFileSync(join(outside.path, 'victim'), 'untouched');
    mkdirSync(join(outside.path, 'folder'));
    writeFileSync(join(outside.path, 'folder/victim'), 'untouched');
    const traps: Record<string, (mount: string) => void> = {
      'a generation': (mount) => {
        const [generation = ''] = hiddenNames(mount);
        rmSync(join(mount, generation), { recursive: true });
        symlinkSync(outside.path, join(mount, generation));
      },
      'an address': (mount) => {
        rmSync(join(mount, 'addresses/10.0.0.1'), { recursive: true });
        symlinkSync(outside.path, join(mount, 'addresses/10.0.0.1'));
      },
      'the ports': (mount) => {
        rmSync(join(mount, 'default-address/ports'), { recursive: true });
        symlinkSync(outside.path, join(mount, 'default-address/ports'));
      },
      'a port': (mount) => {
        rmSync(join(mount, 'default-address/ports/http'));
        symlinkSync(join(outside.path, 'victim'), join(mount, 'default-address/ports/http'));
      },
      addresses: (mount) => {
        rmSync(join(mount, 'addresses'));
        symlinkSync(outside.path, join(mount, 'addresses'));
      },
      'something hidden': (mount) => symlinkSync(outside.path, join(mount, '..hidden')),
      'something in a hidden folder': (mount) => {
        mkdirSync(join(mount, '..hidden/deep'), { recursive: true });
        symlinkSync(outside.path, join(mount, '..hidden/deep/link'));
      },
    };
    for (const [what, trap] of Object.entries(traps)) {
      using volume = temporaryFolder();
      await write(volume.path, one);
      trap(volume.path);
      await write(volume.path, two);
      await write(volume.path, one);
      assert.deepEqual(readAsPod(volume.path), filesOf(one), what);
      assert.deepEqual(readdirSync(outside.path).toSorted(), ['folder', 'victim'], what);
      assert.equal(readFileSync(join(outside.path, 'victim'), 'utf8'), 'untouched', what);
      assert.equal(readFileSync(join(outside.path, 'folder/victim'), 'utf8'), 'untouched', what);
      assert.equal(statSync(outside.path).mode & 0o777, 0o700, what);
    }
  });

  it('cannot stop the driver with folders that it may not read, unless it may not write the volume at all', async () => {
    using volume = temporaryFolder();
    await write(volume.path, one);
    const [generation = ''] = hiddenNames(volume.path);
    chmodSync(join(volume.path, generation), 0);
    await using folder = await Directory.open(volume.path);
    await writeTree(folder, two, 0);
    assert.deepEqual(readAsPod(volume.path), filesOf(two));
  });
});

describe('any entry', () => {
  const segment = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }).filter((value) => isSegment(value, 253));
  const ports = fc.dictionary(segment, fc.integer({ min: 1, max: 65_535 }), { maxKeys: 4 });
  const someTree = fc
    .array(fc.tuple(segment, ports), { minLength: 1, maxLength: 4 })
    .map((list) => tree(list[0]?.[0] ?? '', Object.fromEntries(list)));

  it('is shown as the rule of the layout says, after any others', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(someTree, { minLength: 1, maxLength: 4 }), async (states) => {
        using parent = temporaryFolder();
        const mount = join(parent.path, 'mount');
        mkdirSync(mount);
        for (const state of states) {
          await write(mount, state);
          assert.deepEqual(readAsPod(mount), filesOf(state));
          assert.equal(defaultLink(mount), `addresses/${state.primary}`);
        }
        assert.deepEqual(readdirSync(parent.path), ['mount']);
      }),
      { numRuns: 20 },
    );
  });
});

describe('a reader of the volume', () => {
  it('never misses a file and never sees a mixed state, through many changes', async () => {
    using volume = temporaryFolder();
    const state = (round: number): Tree => {
      const number = 1_000 + round;
      const ports = { one: number, two: number };
      const address = `address-${Math.floor(round / 3) % 5}`;
      return tree(address, { [address]: ports, other: ports });
    };
    await write(volume.path, state(0));
    const reader = spawn(process.execPath, [join(import.meta.dirname, 'reader.ts'), volume.path], { stdio: ['pipe', 'pipe', 'inherit'] });
    const output = text(reader.stdout);
    for (let round = 1; round <= 150; round += 1) await write(volume.path, state(round), 2);
    reader.stdin.end();
    const exited = once(reader, 'exit');
    const report = JSON.parse(await output) as Report; // Written by reader.ts, which says that it is one.
    await exited;
    assert.deepEqual(report.wrong, []);
    assert.ok(report.reads > 50, `${report.reads} reads`);
    assert.equal(report.addresses.length, 5);
  });
});
