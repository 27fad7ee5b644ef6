import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { skupperDataAdvice } from '../../../src/platform/linux/skupper-data.ts';
import { aDirectory } from './support.ts';

test('the data directory of Skupper is named while Earshot has none and EARSHOT_HOME is unset', async (t) => {
  const home = await aDirectory(t);
  const advice = (env: Record<string, string> = {}): string | undefined => skupperDataAdvice({ env, uid: 1000, home });
  assert.equal(advice(), undefined);
  const skupper = join(home, '.local/share/skupper');
  await mkdir(join(skupper, 'namespaces'), { recursive: true });
  assert.equal(advice(), `Skupper's data is in ${skupper}: set EARSHOT_HOME=${skupper} to use it.`);
  assert.equal(advice({ EARSHOT_HOME: join(home, 'other') }), undefined);
  assert.equal(advice({ XDG_DATA_HOME: join(home, 'data') }), undefined);
  await mkdir(join(home, '.local/share/earshot/namespaces'), { recursive: true });
  assert.equal(advice(), undefined);
});
