import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { suite, test } from 'node:test';
import { bundle } from '../../../scripts/bundle.ts';
import { buildPage } from '../../../scripts/page.ts';

suite('the bundle', () => {
  const bundled = bundle();

  test('is a program of one file that needs nothing beside it', async () => {
    const { code } = await bundled;
    const folder = mkdtempSync(path.join(tmpdir(), 'earshot-bundle-'));
    try {
      const file = path.join(folder, 'earshot.mjs');
      writeFileSync(file, code);
      const help = execFileSync(process.execPath, [file, '--help'], { cwd: folder, encoding: 'utf8' });
      for (const command of ['controller', 'csi-node']) assert.match(help, new RegExp(`^ +${command}`, 'm'));
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('is ASCII, so that V8 keeps a byte for each character and not two', async () => {
    const { code } = await bundled;
    assert.equal(
      code.findIndex((byte) => byte > 0x7f),
      -1,
    );
  });

  test('keeps exports of Node.js in variables, since a getter for each would take 6 MB and time', async () => {
    const { code } = await bundled;
    assert.doesNotMatch(code.toString(), /__toESM\(require_node_/);
  });

  test('has lines that are short enough to be printed with an error', async () => {
    const { code } = await bundled;
    const longest = Math.max(
      ...code
        .toString()
        .split('\n')
        .map(({ length }) => length),
    );
    assert.ok(longest < 10_000, `${longest} characters in a line`);
  });

  test('has the page of the console in it, which takes 150 KB at most', async () => {
    const [{ code }, page] = await Promise.all([bundled, buildPage()]);
    // A long string is continued on the next line.
    const text = code.toString().replaceAll('\\\n', '');
    for (const { path: file } of page) assert.ok(text.includes(`path:"${file}"`), file);
    const size = page.reduce((sum, { gzip }) => sum + gzip.length, 0);
    assert.ok(size > 20_000 && size <= 150_000, `${size} bytes`);
  });

  test('comes with the licence of every package in it', async () => {
    const { notices } = await bundled;
    const parts = notices.split(`\n${'-'.repeat(80)}\n\n`);
    assert.ok(parts.length > 10);
    for (const part of parts) {
      const [title = '', text = ''] = part.split(/\n\n(.*)/s);
      assert.match(title, /^\S+ \d+\.\d+\.\d+\S* \(.+\)$/);
      assert.ok(text.length > 500, `${title} has no licence text in its package`);
    }
  });
});
