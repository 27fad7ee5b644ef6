import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { SkupperResource } from '../../../src/api/skupper/index.ts';
import { keyedKindNamed, namedIn } from '../../../src/cli/actions/kind-names.ts';
import { goalIn } from '../../../src/cli/actions/wait-action.ts';
import { Namespace } from './namespace.ts';

const listener = { routingKey: 'web', host: '127.0.0.1', port: 80, type: 'tcp', exposePodsByName: false };
const brief = ['--timeout', '200ms'];

async function running(): Promise<Namespace> {
  const west = await Namespace.make();
  await west.run();
  await west.earshot(['listener', 'create', 'web', '80', '--host', '127.0.0.1', '--wait', 'none']);
  return west;
}

describe('earshot wait', () => {
  it('returns once the resource is Ready', async () => {
    await using west = await running();
    const waited = west.earshot(['wait', 'listener/web']);
    await west.answer('Listener', 'web', listener, { status: 'Ready' });
    const { code, out } = await waited;
    assert.deepEqual([code, out], [0, 'Listener "web" is Ready.\n']);
  });

  it('says why it is not when the time is over', async () => {
    await using west = await running();
    await west.answer('Listener', 'web', listener, { status: 'Error', message: 'The port is in use.' });
    const { code, err } = await west.earshot(['wait', 'lnr', 'web', ...brief]);
    assert.equal(code, 3);
    assert.match(err, /Timed out after 0\.2 s, waiting for Listener "web" to be Ready: it is Error: The port is in use/);
  });

  for (const message of ['no connector is reachable', 'Nothing answered.', 'Does a firewall drop packets?'])
    it(`ends the reason with one punctuation mark: ${message}`, async () => {
      await using west = await running();
      await west.answer('Listener', 'web', listener, { status: 'Pending', message });
      const { err } = await west.earshot(['wait', 'listener/web', ...brief]);
      assert.ok(err.includes(` ${message}${message.endsWith('e') ? '.' : ''} Check again `), err);
    });

  it('takes the reason from a condition where the status has none', async () => {
    await using west = await running();
    const conditions = [{ type: 'Matched', status: 'False', reason: 'x', message: 'No connector is in reach.', lastTransitionTime: '' }];
    await west.answer('Listener', 'web', listener, { status: 'Pending', conditions });
    assert.match((await west.earshot(['wait', 'listener/web', ...brief])).err, /it is Pending: No connector is in reach/);
  });

  it('does not take the status of an earlier spec', async () => {
    await using west = await running();
    await west.answer('Listener', 'web', { ...listener, port: 81 }, { status: 'Ready' });
    assert.match((await west.earshot(['wait', 'listener/web', ...brief])).err, /has not adopted its last change/);
  });

  it('waits for what does not exist yet, and says so', async () => {
    await using west = await running();
    const { code, err } = await west.earshot(['wait', 'link/gone', ...brief]);
    assert.deepEqual([code, /it does not exist/.test(err)], [3, true]);
  });

  it('waits until a resource is deleted', async () => {
    await using west = await running();
    assert.match((await west.earshot(['wait', 'listener/web', '--for=delete', ...brief])).err, /it exists/);
    await west.earshot(['listener', 'delete', 'web', '--no-wait']);
    assert.deepEqual((await west.earshot(['wait', 'listener/web', '--for', 'delete'])).out, 'Listener "web" is deleted.\n');
  });

  it('waits for all of a kind, or of the site', async () => {
    await using west = await running();
    assert.equal((await west.earshot(['wait', '--all', ...brief])).code, 4);
    await west.answer('Site', 'west', {}, { status: 'Ready' });
    await west.answer('Listener', 'web', listener, { status: 'Ready' });
    assert.match((await west.earshot(['wait', '--all'])).out, /Site "west" is Ready\.\nListener "web" is Ready/);
    assert.equal((await west.earshot(['wait', 'listeners', '--all'])).out, 'Listener "web" is Ready.\n');
  });

  it('says that nothing runs the namespace', async () => {
    await using west = await Namespace.make();
    await west.earshot(['listener', 'create', 'web', '80']);
    assert.match((await west.earshot(['wait', 'listener/web', ...brief])).err, /no process runs the namespace west/);
  });

  it('refuses what names no resource', () => {
    for (const words of [[], ['listener'], ['listener/'], ['listener/a/b'], ['nonsense/a'], ['listener/a', 'b']])
      assert.throws(() => namedIn(words, keyedKindNamed), { code: 'usage' }, words.join(' '));
    assert.deepEqual(
      namedIn(['listener', 'a', 'b'], keyedKindNamed).map(({ name }) => name),
      ['a', 'b'],
    );
  });

  it('refuses a NetworkObserver on a machine', async () => {
    await using west = await running();
    const { code, err } = await west.earshot(['wait', 'networkobserver/web', ...brief]);
    assert.deepEqual([code, /exists only in a cluster: select one with --platform kubernetes/.test(err)], [2, true]);
  });

  it('takes conditions as kubectl does', () => {
    const resource = (status: object): SkupperResource => ({ kind: 'Link', metadata: {}, spec: {}, status }) as unknown as SkupperResource;
    const configured = (status: string) => resource({ conditions: [{ type: 'Configured', status }] });
    const cases: readonly (readonly [string, SkupperResource, boolean])[] = [
      ['Ready', resource({ status: 'Ready' }), true],
      ['ready', resource({ status: 'Ready' }), true],
      ['condition=Ready', resource({ status: 'Pending' }), false],
      ['Configured', configured('True'), true],
      ['condition=configured=false', configured('False'), true],
      ['Configured=False', configured('True'), false],
    ];
    for (const [text, found, reached] of cases) assert.equal(goalIn(text).isReached(found), reached, text);
    assert.throws(() => goalIn('jsonpath={.status}'), { code: 'usage' });
  });
});
