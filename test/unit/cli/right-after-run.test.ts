import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Namespace } from './namespace.ts';
import { RunningSite } from './running-site.ts';

describe('commands right after `earshot run &`', () => {
  for (const [words, said] of [
    [['token', 'issue', 'TOKEN'], /Site "west" does not accept links/],
    [['system', 'reload'], /All files of the namespace west are read again/],
    [['system', 'status'], /^Running: +router/m],
    [['listener', 'update', 'key', '--routing-key', 'other'], /Listener "key" is configured/],
    [['listener', 'status'], /^key +key/m],
  ] as const)
    it(`find the site: ${words.join(' ')}`, async () => {
      await using west = await Namespace.make();
      await using site = await RunningSite.make();
      process.env['EARSHOT_HOME'] = site.home;
      site.spawn();
      const { out, err } = await west.earshot(words.map((word) => (word === 'TOKEN' ? join(site.home, 'token.yaml') : word)));
      assert.match(`${out}${err}`, said);
      assert.doesNotMatch(err, /No process runs/);
    });
});
