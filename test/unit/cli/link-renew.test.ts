import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { RenewalRequestFiles } from '../../../src/platform/linux/renewal-requests.ts';
import { eventually } from '../../harness/wait.ts';
import { Namespace } from './namespace.ts';

async function withLink(status: object = { status: 'Ready' }): Promise<Namespace> {
  const west = await Namespace.make();
  await west.run();
  await west.answer('Link', 'to-east', { endpoints: [] }, status);
  // The running process has made it.
  await west.write(`${west.layout.internal.root}/made`, '');
  return west;
}

describe('link renew', () => {
  it('asks the running process, and prints the new serial number and the one before', async () => {
    await using west = await withLink();
    const requests = new RenewalRequestFiles(west.layout);
    const done = west.earshot(['link', 'renew', 'to-east']);
    await eventually('the request', async () => (await requests.open()).has('to-east'));
    await requests.answer('to-east', { serial: 'B2', before: 'A1', until: '2030-01-01T00:00:00.000Z' });
    const { code, out } = await done;
    assert.deepEqual(
      [code, out],
      [0, 'Link "to-east" has a new certificate, valid until 2030-01-01T00:00:00.000Z.\nSerial number B2, before A1.\n'],
    );
    assert.deepEqual(await readdir(west.layout.internal.root), ['made'], 'nothing of the request stays');
  });

  it('fails with the reason of the refusing site', async () => {
    await using west = await withLink();
    const requests = new RenewalRequestFiles(west.layout);
    const done = west.earshot(['link', 'renew', 'to-east']);
    await eventually('the request', async () => (await requests.open()).has('to-east'));
    await requests.answer('to-east', { refused: 'site west is revoked' });
    const { code, err } = await done;
    assert.equal(code, 1);
    assert.match(err, /Link "to-east" keeps its certificate: site west is revoked\n/);
  });

  it('says that the link is down while that is what it waits for', async () => {
    await using west = await withLink({ status: 'Pending', message: 'the other site does not answer' });
    const { code, err } = await west.earshot(['link', 'renew', 'to-east', '--timeout', '50ms']);
    assert.equal(code, 3);
    assert.match(err, /the link is Pending: the other site does not answer/);
  });

  it('knows the links that there are', async () => {
    await using west = await withLink();
    const { code, err } = await west.earshot(['link', 'renew', 'to-north']);
    assert.equal(code, 4);
    assert.match(err, /does not exist in this namespace; it has to-east/);
  });

  it('needs a process that runs the namespace', async () => {
    await using west = await Namespace.make();
    await west.answer('Link', 'to-east', { endpoints: [] }, { status: 'Ready' });
    assert.equal((await west.earshot(['link', 'renew', 'to-east'])).code, 6);
  });
});
