/** `earshot debug conn` with a router that runs. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { debugConnections, type ConnectionWords } from '../../../src/cli/actions/debug-connections.ts';
import type { ConnectionRecord } from '../../../src/router/contract.ts';
import { eventually } from '../../harness/wait.ts';
import { RunningSite } from './running-site.ts';

interface Shown {
  readonly out: string;
  readonly note: string;
}

async function show({ layout }: RunningSite, id?: string, words: Partial<ConnectionWords> = {}): Promise<Shown> {
  const shown = { out: '', note: '' };
  const terminal = {
    out: (text: string) => void (shown.out += text),
    note: (text: string) => void (shown.note += text),
    input: () => Promise.resolve(''),
  };
  await debugConnections(layout, id, { limit: 100, ...words }, terminal);
  return shown;
}

async function items(site: RunningSite, words: Partial<ConnectionWords> = {}): Promise<readonly ConnectionRecord[]> {
  const { out } = await show(site, undefined, { ...words, output: 'json' });
  return (JSON.parse(out) as { readonly items: readonly ConnectionRecord[] }).items;
}

test('connections are listed, selected, shown one by one and ended', async () => {
  await using site = await RunningSite.make();
  await assert.rejects(show(site), { code: 'not-running' });
  await site.start();
  using kept = await site.connects();
  assert.equal(await kept.says('hello'), 'hello');
  const [open, ...others] = await eventually('only it is open', async () => {
    const now = await items(site, { state: 'open' });
    return now.length === 1 ? now : undefined;
  });
  assert.deepEqual([others.length, open?.bytes, open?.halves], [0, { up: 5, down: 5 }, ['first', 'last']]);
  const id = open?.id ?? '';
  const { out } = await show(site);
  const [head = '', row = ''] = out.split('\n');
  assert.match(head, /^ID +KEY +FROM +TO +AGE +IDLE +UP +DOWN$/);
  assert.match(row, new RegExp(`^${id} +key +west 127\\.0\\.0\\.1 +west 127\\.0\\.0\\.1:\\d+ +\\d+s +\\d+s +5 +5$`));
  assert.deepEqual(await items(site, { key: 'other' }), []);
  assert.deepEqual(await items(site, { idle: 3_600_000 }), []);
  assert.match((await show(site, undefined, { key: 'other' })).note, /No connection matches/);
  assert.match((await show(site, id)).out, /Listener: +Listener\/key\n/);
  await assert.rejects(show(site, undefined, { end: true }), { code: 'usage' });
  await assert.rejects(show(site, 'nothing', { end: true }), { code: 'not-found' });
  assert.match((await show(site, id, { end: true })).out, /was ended/);
  await eventually('its end', async () => (await items(site, { state: 'ended' })).some((one) => one.id === id && one.end === 'command'));
  assert.match((await show(site, id)).out, /End: +command\n/);
  const limited = await show(site, undefined, { state: 'ended', limit: 1 });
  assert.equal(limited.out.trimEnd().split('\n').length, 2, 'one besides the head');
  assert.match(limited.note, /There are more/);
});
