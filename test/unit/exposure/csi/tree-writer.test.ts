import assert from 'node:assert/strict';
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  symlinkSync,
  writeFileSync,
  rmSync,
  chmodSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { Directory } from '../../../../src/exposure/csi/directory.ts';
import { writeTree } from '../../../../src/exposure/csi/tree-writer.ts';
import { isSegment } from '../../../../src/exposure/csi/tree.ts';
import { breakWhen, Broken } from './broken-directory.ts';
import { defaultLink, filesOf, hiddenNames, readAsPod, temporaryFolder, tree, write } from './volume-folder.ts';

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
    assert.deepEqual(
      readdirSync(volume.path)
        .filter((name) => !name.startsWith('..'))
        .toSorted(),
      ['addresses', 'default-address'],
    );
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

describe('a volume that cannot be written', () => {
  it('does not grow with every try, and stays readable', async () => {
    using volume = temporaryFolder();
    await write(volume.path, one);
    const before = hiddenNames(volume.path);
    for (const broken of ['rename', 'makeLink', 'makeFile']) {
      for (let round = 0; round < 3; round += 1) {
        await using folder = await Directory.open(volume.path);
        await assert.rejects(
          writeTree(
            breakWhen(folder, (method) => method === broken),
            two,
            { settleMilliseconds: 0 },
          ),
          Broken,
        );
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
    await writeTree(folder, two, { settleMilliseconds: 0 });
    assert.deepEqual(readAsPod(volume.path), filesOf(two));
  });
});

describe('what a container has mounted by subPath', () => {
  it('stays whole through any number of changes, and nothing else is left behind', async () => {
    using volume = temporaryFolder();
    const trees = [one, two, one, two, one];
    const held: { readonly path: string; readonly files: Readonly<Record<string, string>> }[] = [];
    for (const wanted of trees) {
      await write(volume.path, wanted, 0, true);
      // The kubelet mounts the folders behind the links.
      for (const name of ['addresses', 'default-address']) {
        const path = realpathSync(join(volume.path, name));
        held.push({ path, files: filesIn(path) });
      }
      for (const { path, files } of held) assert.deepEqual(filesIn(path), files);
    }
    for (const name of hiddenNames(volume.path)) assert.ok(statSync(join(volume.path, name)).isDirectory());
  });

  it('stays whole where a change fails, and the unfinished change is removed', async () => {
    using volume = temporaryFolder();
    for (const wanted of [one, two, one]) await write(volume.path, wanted, 0, true);
    const before = hiddenNames(volume.path).toSorted();
    for (const broken of ['rename', 'makeLink', 'makeFile']) {
      await using folder = await Directory.open(volume.path);
      const breaking = breakWhen(folder, (method) => method === broken);
      await assert.rejects(writeTree(breaking, two, { settleMilliseconds: 0, keepsFolders: true }), Broken);
      assert.deepEqual(hiddenNames(volume.path).toSorted(), before, broken);
    }
  });
});

/** Every file below a folder, with its content. */
function filesIn(path: string): Readonly<Record<string, string>> {
  const files = readdirSync(path, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return Object.fromEntries(files.map(({ parentPath, name }) => [join(parentPath, name), readFileSync(join(parentPath, name), 'utf8')]));
}

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
      { numRuns: 10 },
    );
  });
});
