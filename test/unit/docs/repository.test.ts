/** The files that services and editors read: what they name exists. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { parse } from 'yaml';
import manifest from '../../../package.json' with { type: 'json' };
import { root } from './documents.ts';

const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const yamlFiles = globSync('.github/**/*.yml', { cwd: root });

describe('the files of the repository', () => {
  it('name one version of Node.js', () => {
    const version = read('.nvmrc').trim();
    const { engines, optionalDependencies } = manifest;
    assert.deepEqual([engines.node, ...Object.values(optionalDependencies)], [`^${version}`, version, version]);
  });

  it('name one version of Go, which the tools accept', () => {
    const [required = ''] = /(?<=Go )\d+\.\d+(?= or later in PATH)/.exec(read('scripts/setup/ready.sh')) ?? [];
    assert.match(read('.github/workflows/ci.yml'), new RegExp(`go-version: '${required.replace('.', '\\.')}'`));
    assert.match(read('.devcontainer/devcontainer.json'), new RegExp(`"version": "${required.replace('.', '\\.')}"`));
  });

  it('below .github are YAML', () => {
    assert.ok(yamlFiles.length > 5, yamlFiles.join(' '));
    for (const file of yamlFiles) assert.equal(typeof parse(read(file)), 'object', file);
  });

  it('and the release checklist run only make targets and npm scripts that exist', () => {
    const targets = new Set([...read('Makefile').matchAll(/^([a-z][a-z-]*):/gm)].map(([, target = '']) => target));
    const scripts = new Set(Object.keys(manifest.scripts));
    const texts = [...yamlFiles, '.devcontainer/devcontainer.json', '.github/pull_request_template.md', 'RELEASE.md'].map(read);
    const run = texts.flatMap((text) => [
      ...[...text.matchAll(/(?<=[`&:] ?)make ([a-z-]+)/g)].map(([, name = '']) => ({ name, exists: targets.has(name) })),
      ...[...text.matchAll(/\bnpm run ([a-z:-]+)/g)].map(([, name = '']) => ({ name, exists: scripts.has(name) })),
    ]);
    assert.ok(run.length > 10, `${run.length} commands`);
    assert.deepEqual(
      run.filter(({ exists }) => !exists),
      [],
    );
  });
});
