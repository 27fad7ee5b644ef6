import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Namespace } from './namespace.ts';

async function withSite(): Promise<Namespace> {
  const west = await Namespace.make();
  await west.earshot(['site', 'create', 'west']);
  await west.earshot(['listener', 'create', 'web', '80']);
  await west.earshot(['connector', 'create', 'db', '5432']);
  return west;
}

describe('site delete', () => {
  it('says what stays, and how to delete it', async () => {
    await using west = await withSite();
    const { code, err } = await west.earshot(['site', 'delete']);
    assert.equal(code, 0);
    assert.match(err, /2 other resources of the namespace remain\. Delete the rest with `earshot -n west site delete --all`/);
  });

  it('with --all deletes what stayed when the site was deleted', async () => {
    await using west = await withSite();
    await west.earshot(['site', 'delete']);
    const { code, out } = await west.earshot(['site', 'delete', '--all']);
    assert.deepEqual([code, out], [0, 'Connector "db" is deleted.\nListener "web" is deleted.\n']);
    assert.equal((await west.earshot(['site', 'delete', '--all'])).code, 4, 'nothing is left');
  });

  it('with --all deletes all at once', async () => {
    await using west = await withSite();
    const { code, out, err } = await west.earshot(['site', 'delete', '--all']);
    assert.deepEqual([code, out, err], [0, 'Connector "db" is deleted.\nListener "web" is deleted.\nSite "west" is deleted.\n', '']);
  });

  it('of a site that does not exist deletes nothing', async () => {
    await using west = await withSite();
    assert.equal((await west.earshot(['site', 'delete', 'other', '--all'])).code, 4);
    assert.notEqual(await west.text('Listener-web.yaml'), undefined);
  });
});
