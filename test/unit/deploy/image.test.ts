import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { suite, test } from 'node:test';
import { dynamicLinksOf, withoutDebugSections } from '../../../scripts/image/elf.ts';
import { imageArchive, multiArchitectureArchive, type ImageConfig } from '../../../scripts/image/archive.ts';
import { tarOf, type TarEntry } from '../../../scripts/image/tar.ts';

const file = (at: string, content = at): TarEntry => ({ type: 'file', path: at, content: Buffer.from(content) });

function inFolder<T>(use: (folder: string) => T): T {
  const folder = mkdtempSync(path.join(tmpdir(), 'earshot-image-'));
  try {
    return use(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function unpack(archive: Buffer, folder: string): void {
  execFileSync('tar', ['-x', '-f', '-', '-C', folder], { input: archive });
}

suite('tarOf', () => {
  test('is read back by tar as it was given, with the folders in between', () => {
    const long = `${'d'.repeat(90)}/${'e'.repeat(60)}/file`;
    const archive = tarOf([
      { type: 'file', path: 'bin/program', content: Buffer.alloc(513, 'x'), executable: true },
      file(long, 'far'),
      file('empty', ''),
      { type: 'folder', path: 'tmp', mode: 0o1777 },
      { type: 'link', path: 'bin/alias', target: 'program' },
    ]);
    inFolder((folder) => {
      unpack(archive, folder);
      assert.equal(readFileSync(path.join(folder, 'bin/alias'), 'utf8'), 'x'.repeat(513));
      assert.equal(readFileSync(path.join(folder, long), 'utf8'), 'far');
      assert.equal(readFileSync(path.join(folder, 'empty'), 'utf8'), '');
    });
    const listing = execFileSync('tar', ['-t', '-v', '-f', '-'], { input: archive, encoding: 'utf8' });
    assert.match(listing, /^drwxrwxrwt 0\/0 .* tmp\/$/m);
    assert.match(listing, /^-rwxr-xr-x 0\/0 .* bin\/program$/m);
    assert.match(listing, /^-rw-r--r-- 0\/0 +0 1970-01-01 .* empty$/m);
  });

  test('gives the same bytes whatever the order of its entries', () => {
    const entries = [file('b/2'), file('a'), file('b/1')];
    assert.deepEqual(tarOf(entries), tarOf(entries.toReversed()));
  });

  test('refuses names that would leave the archive, or that two entries share', () => {
    assert.throws(() => tarOf([file('/etc/passwd')]), /not a relative path: \/etc\/passwd/);
    assert.throws(() => tarOf([file('a/../../b')]), /not a relative path/);
    assert.throws(() => tarOf([file('a'), file('a')]), /two entries of the archive are called a/);
    assert.throws(() => tarOf([file('a'), file('a/b')]), /a\/b lies below a, which is a file/);
    assert.throws(() => tarOf([file('n'.repeat(101))]), /does not fit a ustar header/);
  });
});

suite('imageArchive', () => {
  const config: ImageConfig = {
    architecture: 'amd64',
    entrypoint: ['/program'],
    environment: { A: '1' },
    user: '65532:65532',
    workingDirectory: '/',
    labels: {},
  };
  const layers = [[file('lower')], [file('upper')]];

  test('is a layout whose every blob has the digest and the size that the one above it says', () => {
    const { bytes, digest } = imageArchive('registry.example.com:5000/team/earshot:1.2.3', layers, config);
    inFolder((folder) => {
      unpack(bytes, folder);
      const json = (at: string) => JSON.parse(readFileSync(path.join(folder, at), 'utf8'));
      const blob = (descriptor: { digest: string; size: number }): string => {
        const at = path.join('blobs/sha256', descriptor.digest.replace('sha256:', ''));
        const content = readFileSync(path.join(folder, at));
        assert.equal(`sha256:${createHash('sha256').update(content).digest('hex')}`, descriptor.digest);
        assert.equal(content.length, descriptor.size);
        return at;
      };
      assert.deepEqual(json('oci-layout'), { imageLayoutVersion: '1.0.0' });
      const [entry] = json('index.json').manifests;
      assert.equal(entry.digest, digest);
      assert.equal(entry.annotations['io.containerd.image.name'], 'registry.example.com:5000/team/earshot:1.2.3');
      assert.equal(entry.annotations['org.opencontainers.image.ref.name'], '1.2.3');
      const manifest = json(blob(entry));
      const image = json(blob(manifest.config));
      assert.deepEqual(image.config.Entrypoint, ['/program']);
      assert.deepEqual(image.config.Env, ['A=1']);
      assert.equal(image.config.User, '65532:65532');
      // Layers are not compressed, so what is stored is what is unpacked.
      assert.deepEqual(
        image.rootfs.diff_ids,
        manifest.layers.map((layer: { digest: string }) => layer.digest),
      );
      const contents = manifest.layers.map((layer: { digest: string; size: number }) =>
        execFileSync('tar', ['-t', '-f', path.join(folder, blob(layer))], { encoding: 'utf8' }).trim(),
      );
      assert.deepEqual(contents, ['lower', 'upper']);
    });
  });

  test('for several processors is an index whose digest names it, with a manifest for each', () => {
    const images = (['amd64', 'arm64'] as const).map((architecture) => ({ layers, config: { ...config, architecture } }));
    const { bytes, digest } = multiArchitectureArchive('a:1', images);
    inFolder((folder) => {
      unpack(bytes, folder);
      const json = (at: string) => JSON.parse(readFileSync(path.join(folder, at), 'utf8'));
      const blob = (descriptor: { digest: string }) => json(path.join('blobs/sha256', descriptor.digest.replace('sha256:', '')));
      const [entry, ...others] = json('index.json').manifests;
      assert.equal(entry.digest, digest);
      assert.deepEqual(others, []);
      const { manifests } = blob(entry);
      const architectures = manifests.map((one: { digest: string; platform: { architecture: string } }) => [
        one.platform.architecture,
        blob(blob(one).config).architecture,
      ]);
      assert.deepEqual(architectures, [
        ['amd64', 'amd64'],
        ['arm64', 'arm64'],
      ]);
    });
  });

  test('for Docker before 25 has a manifest that names the config and the layers', () => {
    const { bytes, digest } = imageArchive('a:1', layers, config, 'docker-archive');
    assert.equal(digest, imageArchive('a:1', layers, config).digest);
    inFolder((folder) => {
      unpack(bytes, folder);
      const json = (at: string) => JSON.parse(readFileSync(path.join(folder, at), 'utf8'));
      const [image, ...others] = json('manifest.json');
      assert.deepEqual([image.RepoTags, others], [['a:1'], []]);
      const digests = image.Layers.map(
        (at: string) =>
          `sha256:${createHash('sha256')
            .update(readFileSync(path.join(folder, at)))
            .digest('hex')}`,
      );
      assert.deepEqual(json(image.Config).rootfs.diff_ids, digests);
    });
  });

  test('has one digest for one content, and another for another', () => {
    const one = imageArchive('a:1', layers, config);
    assert.deepEqual(imageArchive('a:1', layers, config), one);
    assert.notEqual(imageArchive('a:1', [[file('lower', 'changed')], [file('upper')]], config).digest, one.digest);
    assert.notEqual(imageArchive('a:1', layers, { ...config, user: '0' }).digest, one.digest);
  });

  test('refuses a name without a tag', () => {
    assert.throws(() => imageArchive('registry.example.com:5000/earshot', layers, config), /needs a tag/);
  });
});

suite('withoutDebugSections', () => {
  test('leaves a program that still runs', () => {
    inFolder((folder) => {
      const program = path.join(folder, 'program');
      const original = readFileSync('/bin/ls');
      // A tail as debug sections leave one, behind everything that is mapped.
      const trimmed = withoutDebugSections(Buffer.concat([original, Buffer.alloc(4096, 'd')]));
      assert.ok(trimmed.length < original.length, 'the section headers of ls are behind its last segment');
      writeFileSync(program, trimmed, { mode: 0o755 });
      assert.equal(execFileSync(program, [folder], { encoding: 'utf8' }), 'program\n');
    });
  });

  test('returns what is no 64-bit program as it is', () => {
    for (const content of ['', '#!/bin/sh\n', `\u007fELF${'x'.repeat(100)}`]) {
      assert.equal(withoutDebugSections(Buffer.from(content)).toString(), content);
    }
  });

  test('returns a program as it is when there is nothing behind its last segment', () => {
    const trimmed = withoutDebugSections(readFileSync('/bin/ls'));
    assert.equal(withoutDebugSections(trimmed), trimmed);
  });
});

test('the libraries that an image needs are those that the program is linked against', () => {
  const { needed, interpreter } = dynamicLinksOf(readFileSync(process.execPath));
  const listed = execFileSync('ldd', [process.execPath], { encoding: 'utf8' });
  assert.ok(needed.includes('libc.so.6') && needed.includes('libstdc++.so.6'));
  for (const name of needed) assert.ok(listed.includes(name), `${name} is not listed`);
  assert.ok(interpreter !== undefined && listed.includes(interpreter));
  const library = dynamicLinksOf(readFileSync(/=> (\S+libstdc\S+)/.exec(listed)?.[1] ?? ''));
  assert.ok(library.needed.includes('libm.so.6'));
  assert.equal(library.interpreter, undefined);
});
