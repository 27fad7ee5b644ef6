/** Exit codes of commands for a namespace that no process runs. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { Namespace } from './namespace.ts';

suite('a command for a namespace that no process runs', () => {
  for (const words of [
    ['network'],
    ['network', '-o', 'json'],
    ['status', '--check'],
    ['check'],
    ['explain', 'site', 'west'],
    ['token', 'issue', 'token.yaml'],
    ['debug', 'conn'],
    ['debug', 'conn', 'k3x9qa1f'],
    ['debug', 'conn', 'k3x9qa1f', '--end'],
    ['system', 'status'],
    ['system', 'reload'],
    ['system', 'stop'],
    ['logs'],
  ]) {
    test(`\`earshot ${words.join(' ')}\` exits with 6 and says so once`, async () => {
      await using west = await Namespace.make();
      assert.equal((await west.earshot(['site', 'create', 'west'])).code, 0);
      assert.equal((await west.earshot(['listener', 'create', 'web', '8080'])).code, 0);
      const { code, out, err } = await west.earshot(words);
      assert.equal(code, 6, err);
      assert.equal(`${out} ${err}`.match(/no\s+process\s+runs/gi)?.length, 1, `${out}${err}`);
    });
  }

  test('`earshot network` exits with 4 while a process runs that does not know its network', async () => {
    await using west = await Namespace.make();
    await west.run();
    const { code, err } = await west.earshot(['network']);
    assert.equal(code, 4);
    assert.match(err, /does not know its network yet/);
  });

  for (const words of [['status'], ['site', 'status'], ['listener', 'status'], ['link', 'status'], ['token', 'status']]) {
    test(`\`earshot ${words.join(' ')}\` shows what is there`, async () => {
      await using west = await Namespace.make();
      await west.earshot(['site', 'create', 'west']);
      assert.equal((await west.earshot(words)).code, 0);
    });
  }
});
