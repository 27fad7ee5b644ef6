import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { layoutOf } from '../../../src/platform/linux/layout.ts';
import { isStarting, runDirectory } from '../../../src/platform/linux/starting-process.ts';

const at = (namespace: string, base = '/h') => `${base}/namespaces/${namespace}`;

describe('a process that is about to run a namespace', () => {
  const cases: readonly (readonly [words: string, env: Readonly<Record<string, string>>, root: string | undefined])[] = [
    ['/x/bin/node /x/src/cli/main.ts run', {}, at('default')],
    ['/bin/sh /x/bin/earshot -n west run', {}, at('west')],
    ['node --expose-gc /x/src/cli/main.ts run -n west --http-port 1', {}, at('west')],
    ['node /x/src/cli/main.ts --namespace=west run', {}, at('west')],
    ['node /x/src/cli/main.ts run --namespace west', {}, at('west')],
    ['node /x/src/cli/main.ts -nwest run', {}, at('west')],
    ['/usr/lib/earshot/node /usr/lib/earshot/earshot.mjs -n west run', {}, at('west')],
    ['node /x/src/cli/main.ts run', { EARSHOT_NAMESPACE: 'north' }, at('north')],
    ['node /x/src/cli/main.ts run -n west', { EARSHOT_NAMESPACE: 'north' }, at('west')],
    ['node /x/src/cli/main.ts run', { EARSHOT_HOME: '/other' }, at('default', '/other')],
    ['node /x/src/cli/main.ts status', {}, undefined],
    ['node /x/other.ts run', {}, undefined],
    ['vim run earshot.yaml', {}, undefined],
  ];
  for (const [words, env, root] of cases)
    it(`is ${root === undefined ? 'none' : `that of ${root}`}: ${JSON.stringify(env)} ${words}`, () => {
      assert.equal(runDirectory(words.split(' '), { env: { EARSHOT_HOME: '/h', ...env }, uid: 1000, home: '/home/me' }), root);
    });

  it('is found among all processes', async () => {
    const proc = mkdtempSync(join(tmpdir(), 'earshot-proc-'));
    try {
      for (const [pid, words, environment] of [
        ['5', 'init', ''],
        ['6', 'node /x/src/cli/main.ts -n ../bad run', 'EARSHOT_HOME=/h'],
        ['7', 'node /x/src/cli/main.ts -n west run', 'A=1 EARSHOT_HOME=/h'],
        ['sys', 'node /x/src/cli/main.ts -n east run', 'EARSHOT_HOME=/h'],
      ] as const) {
        mkdirSync(join(proc, pid));
        writeFileSync(join(proc, pid, 'cmdline'), words.replaceAll(' ', '\0'));
        writeFileSync(join(proc, pid, 'environ'), environment.replaceAll(' ', '\0'));
      }
      // A process that cannot be inspected.
      mkdirSync(join(proc, '8'));
      const found = await Promise.all(['west', 'east'].map((namespace) => isStarting(layoutOf(namespace, '/h'), proc)));
      assert.deepEqual(found, [true, false]);
    } finally {
      rmSync(proc, { recursive: true });
    }
  });
});
