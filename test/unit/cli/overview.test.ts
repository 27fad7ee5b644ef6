import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Namespace } from './namespace.ts';

test('the overview names what there is of each kind, also where its name ends in s', async () => {
  await using west = await Namespace.make();
  const spec = { roles: [{ name: 'edge' }], tlsCredentials: 'hub' };
  const access = { apiVersion: 'skupper.io/v2alpha1', kind: 'RouterAccess', metadata: { name: 'hub' }, spec };
  await west.earshot(['apply', '-f', '-'], JSON.stringify(access));
  const { out } = await west.earshot(['status']);
  assert.match(out, /^RouterAccesses\nNAME/m);
});

test('the overview mentions each surplus Site', async () => {
  await using west = await Namespace.make();
  for (const name of ['alpha', 'west']) {
    const site = { apiVersion: 'skupper.io/v2alpha1', kind: 'Site', metadata: { name }, spec: {} };
    await west.earshot(['apply', '-f', '-'], JSON.stringify(site));
  }
  const { out } = await west.earshot(['status']);
  assert.match(out, /^Site: +alpha$/m);
  assert.match(out, /^Site "west" is Pending$/m);
});

const up = { siteId: 'e', siteName: 'east', address: '192.0.2.1:4000', operational: true };
for (const [state, links, expected] of [
  ['work', [up, { ...up, siteId: 'n' }], '2 up'],
  [
    'do not all work',
    [up, { ...up, message: 'silent since 12:00' }, { ...up, operational: false, message: 'it ended' }],
    '1 up, 1 silent, 1 down; see `earshot -n west link status`',
  ],
] as const)
  test(`the overview counts the links of other sites if they ${state}`, async () => {
    await using west = await Namespace.make();
    await west.run();
    await west.answer('Site', 'west', { linkAccess: 'default' }, { status: 'Ready', incomingLinks: links });
    const { out } = await west.earshot(['status']);
    assert.equal(/^Incoming links: +(.*)$/m.exec(out)?.[1], expected);
  });
