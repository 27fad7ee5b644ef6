import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { layoutOf } from '../../../src/platform/linux/layout.ts';
import { ensurePlatformFile, readPlatformFile, removePlatformFile, writePlatformFile } from '../../../src/platform/linux/platform-file.ts';

test('the platform of a namespace is read as it was written, and is unknown without a valid file', async () => {
  const home = await mkdtemp(join(tmpdir(), 'earshot-platform-'));
  try {
    const layout = layoutOf('west', home);
    assert.equal(await readPlatformFile(layout), undefined);
    await ensurePlatformFile(layout);
    assert.deepEqual(await readPlatformFile(layout), { platform: 'linux' });
    const file = { platform: 'podman', image: 'registry:5000/earshot:1', drainSeconds: 5 } as const;
    await writePlatformFile(layout, file);
    await ensurePlatformFile(layout);
    assert.deepEqual(await readPlatformFile(layout), file);
    await mkdir(layout.internal.root, { recursive: true });
    const path = join(layout.internal.root, 'platform.yaml');
    const rows: readonly (readonly [string, unknown])[] = [
      ['platform: docker\n', { platform: 'docker' }],
      ['platform: docker\nimage: ""\ndrainSeconds: -1\n', { platform: 'docker' }],
      ['platform: kubernetes\n', undefined],
      ['- platform: podman\n', undefined],
      ['platform: [\n', undefined],
      ['', undefined],
    ];
    for (const [text, expected] of rows) {
      await writeFile(path, text);
      await ensurePlatformFile(layout);
      assert.deepEqual(await readPlatformFile(layout), expected, text);
      assert.equal(await readFile(path, 'utf8'), text, 'an existing file stays');
    }
    await removePlatformFile(layout);
    await removePlatformFile(layout);
    assert.equal(await readPlatformFile(layout), undefined);
  } finally {
    await rm(home, { recursive: true, force: true });
  }
});
