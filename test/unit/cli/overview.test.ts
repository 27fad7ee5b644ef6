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
