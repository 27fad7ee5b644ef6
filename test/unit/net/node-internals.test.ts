import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { sourceFiles } from '../../../scripts/modules.ts';
import { findMissingInternals, type NodeInternal } from '../../../src/net/node-internals.ts';
import type { Outcome } from './support/without-internal.ts';

const SCRIPT = fileURLToPath(new URL('./support/without-internal.ts', import.meta.url));

const SOURCE = fileURLToPath(new URL('../../../src/', import.meta.url));
/** Ways to reach what Node.js does not document. */
const UNDOCUMENTED =
  /\b_(?:handle|parent|readableState|writableState|tlsOptions)\b|process\.binding|node:async_hooks|OwnPropertySymbols|internalBinding/;

interface Run extends Outcome {
  readonly log: readonly string[];
}

async function runWithout(hidden: string): Promise<Run> {
  const { stdout } = await promisify(execFile)(process.execPath, [SCRIPT, hidden], { timeout: 60_000 });
  const lines = stdout.trim().split('\n');
  // Written by the script.
  return { ...(JSON.parse(lines.at(-1) ?? '') as Outcome), log: lines.slice(0, -1) };
}

/** Parts for which the gauge is 1. */
const partsIn = (metrics: string): readonly string[] =>
  [...metrics.matchAll(/^earshot_node_internals_missing\{part="([^"]+)"\} 1$/gm)].map(([, part = '']) => part);

const WITHOUT: readonly (readonly [name: string, missing: readonly NodeInternal[]])[] = [
  // The file descriptor belongs to the read handle.
  ['readStart', ['read-control', 'tls-input']],
  ['fd', ['tls-input']],
  ['receive', ['tls-input']],
  ['TLSWRAP', ['tls-input']],
  ['setVerifyMode', ['tls-handshakes']],
  ['useUserBuffer', ['read-buffer']],
];

describe('internal parts of Node.js', () => {
  it('exist in the version that runs this', () => {
    assert.deepEqual(findMissingInternals(), []);
  });

  it('are used by node-internals.ts only', () => {
    const users = sourceFiles().filter((file) => UNDOCUMENTED.test(readFileSync(join(SOURCE, file), 'utf8')));
    assert.deepEqual(users, ['net/node-internals.ts']);
  });

  it('that exist are 0 in the metric and absent from the log', async () => {
    const { metrics, log } = await runWithout('');
    assert.equal([...metrics.matchAll(/^earshot_node_internals_missing\{part="[^"]+"\} 0$/gm)].length, 4);
    assert.deepEqual(log, []);
  });

  for (const [name, missing] of WITHOUT)
    it(`are reported without ${name}, and links, TLS Listeners and TLS Connectors work`, async () => {
      const { metrics, log, echoed, bytes } = await runWithout(name);
      assert.deepEqual(partsIn(metrics), missing);
      assert.equal(log.length, 1, log.join('\n'));
      for (const part of missing) assert.match(log[0] ?? '', new RegExp(`\\b${part} \\(`));
      assert.deepEqual([echoed, bytes], ['hello', 300_006]);
    });
});
