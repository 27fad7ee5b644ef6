/** `earshot debug conn` with a router that runs. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { debugConnections, type ConnectionWords } from '../../../src/cli/actions/debug-connections.ts';
import { machineRouters } from '../../../src/cli/actions/site-routers.ts';
import type { ConnectionRecord } from '../../../src/router/contract.ts';
import { routerFiles } from '../../../src/platform/linux/layout.ts';
import { announceRouter, lockRouter } from '../../../src/platform/linux/routers.ts';
import { eventually } from '../../harness/wait.ts';
import { Namespace } from './namespace.ts';
import { RunningSite } from './running-site.ts';

interface Shown {
  readonly out: string;
  readonly note: string;
}

async function show({ layout }: Pick<RunningSite, 'layout'>, id?: string, words: Partial<ConnectionWords> = {}): Promise<Shown> {
  const shown = { out: '', note: '' };
  const terminal = {
    out: (text: string) => void (shown.out += text),
    note: (text: string) => void (shown.note += text),
    input: () => Promise.resolve(''),
  };
  await debugConnections(machineRouters(layout), id, { limit: 100, ...words }, terminal);
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

test('a limit leaves the latest connections of all routers', async () => {
  await using west = await Namespace.make();
  await using stack = new AsyncDisposableStack();
  await mkdir(west.layout.runtime.run, { recursive: true });
  for (const [router, minutes] of [
    ['router', [1, 3]],
    ['router-2', [2, 4]],
  ] as const) {
    stack.use(await lockRouter(west.layout, router));
    await announceRouter(west.layout, { pid: process.pid, router, httpPort: 9, startedAt: '2030-01-01T00:00:00Z', version: '0' });
    const records = minutes.map((minute) => aRecord(`id${minute}`, `2030-01-01T00:0${minute}:00.000Z`));
    const server = createServer((_request, response) => void response.end(JSON.stringify({ items: records, next: null })));
    await once(server.listen(routerFiles(west.layout, router).api), 'listening');
    stack.defer(() => void server.close());
  }
  const { out, note } = await show(west, undefined, { limit: 2 });
  assert.deepEqual([...out.matchAll(/^id\d/gm)].flat(), ['id4', 'id3']);
  assert.match(note, /There are more/);
});

const aRecord = (id: string, begun: string): ConnectionRecord => ({
  id,
  key: 'web',
  state: 'open',
  begun,
  ended: null,
  idle: 0,
  from: { site: 'west-id', siteName: 'west', client: null, listener: null },
  via: [],
  to: { site: 'west-id', siteName: 'west', router: null, server: null },
  bytes: { up: 0, down: 0 },
  ms: { connect: null, firstByte: null },
  end: null,
  message: null,
  halves: ['first'],
  of: 1,
});
