import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

const SCRIPT = fileURLToPath(new URL('../../../scripts/setup/installed.mjs', import.meta.url));

type Packages = Readonly<Record<string, { readonly version: string; readonly dev?: true; readonly optional?: true }>>;

const locked: Packages = {
  '': { version: '0.1.0' },
  'node_modules/pino': { version: '1.0.0' },
  'node_modules/typescript': { version: '6.0.0', dev: true },
  'node_modules/node-darwin': { version: '26.0.0', optional: true },
};

/** Installed halves: `undefined` without any. */
function isComplete(installed: Packages | undefined, folders: readonly string[] = Object.keys(installed ?? {})): boolean {
  const root = mkdtempSync(join(tmpdir(), 'earshot-installed-'));
  try {
    writeFileSync(join(root, 'package-lock.json'), JSON.stringify({ packages: locked }));
    for (const folder of folders) mkdirSync(join(root, folder), { recursive: true });
    if (installed !== undefined) {
      mkdirSync(join(root, 'node_modules'), { recursive: true });
      writeFileSync(join(root, 'node_modules/.package-lock.json'), JSON.stringify({ packages: installed }));
    }
    return spawnSync(process.execPath, [SCRIPT], { cwd: root }).status === 0;
  } finally {
    rmSync(root, { recursive: true });
  }
}

describe('what is installed', () => {
  const { 'node_modules/pino': pino, 'node_modules/typescript': typescript } = locked as Required<Packages>;
  const all = { 'node_modules/pino': pino, 'node_modules/typescript': typescript } as Packages;
  for (const [what, installed, complete] of [
    ['is complete after npm ci', all, true],
    ['is not complete after npm ci --omit=dev', { 'node_modules/pino': pino } as Packages, false],
    ['is not complete in a fresh clone', undefined, false],
    ['is not complete after the lock file has changed', { ...all, 'node_modules/pino': { version: '0.9.0' } }, false],
  ] as const)
    it(what, () => assert.equal(isComplete(installed), complete));

  it('is not complete where a folder was deleted', () => assert.equal(isComplete(all, ['node_modules/pino']), false));
});
