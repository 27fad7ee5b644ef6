/** A command that fails prints its reason once: as progress, in its report or in the error. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { validateResource } from '../../../src/api/skupper/validate.ts';
import { makeAuthority } from '../trust/support/site.ts';
import { Cluster, condition, ready } from './cluster.ts';
import { Namespace, type Result } from './namespace.ts';

const REASON = 'the reason of it';
const { ca } = makeAuthority({ name: 'east' });
const url = 'https://east.example.com:9090/v1/redeem/east';
const token = { apiVersion: 'skupper.io/v2alpha1', kind: 'AccessToken', metadata: { name: 'east' }, spec: { url, code: 'c', ca } };
/** A spec with its defaults, as a site shows it. */
const filled = (kind: string, port: number): object => {
  const spec = { routingKey: 'web', host: '127.0.0.1', port };
  return validateResource({ apiVersion: 'skupper.io/v2alpha1', kind, metadata: { name: 'web' }, spec }).resource?.spec ?? {};
};
/** Longer than a reason must last before it is shown. */
const LONG = ['--timeout', '700ms'];

/** Lines are wrapped. */
const count = ({ out, err }: Result, reason: string): number => `${out} ${err}`.replaceAll(/\s+/g, ' ').split(reason).length - 1;

suite('the reason of a failed command is printed once', () => {
  const late = { status: 'Pending', message: REASON };
  const failed = { status: 'Error', message: REASON };
  const commands: readonly (readonly [words: readonly string[], kind: string, name: string, spec: object, input?: string])[] = [
    [['token', 'issue', '-', '--name', 'east'], 'AccessGrant', 'east', {}],
    [['token', 'redeem', '-', '--link-cost', '1'], 'AccessToken', 'east', { ...token.spec, linkCost: 1 }, JSON.stringify(token)],
    [['listener', 'create', 'web', '8080', '--host', '127.0.0.1', '--wait', 'ready'], 'Listener', 'web', filled('Listener', 8080)],
    [['connector', 'create', 'web', '80', '--host', '127.0.0.1', '--wait', 'ready'], 'Connector', 'web', filled('Connector', 80)],
    [['wait', 'listener/web'], 'Listener', 'web', filled('Listener', 8080)],
  ];
  for (const [words, kind, name, spec, input] of commands)
    for (const status of [late, failed])
      test(`by \`earshot ${words.slice(0, 2).join(' ')}\` of a resource that is ${status.status}`, async () => {
        await using west = await Namespace.make();
        await west.run();
        await west.answer('Site', 'west', { linkAccess: 'default' }, { status: 'Ready' });
        await west.answer(kind, name, spec, status);
        const result = await west.earshot([...words, ...LONG], input);
        assert.ok([1, 3].includes(result.code), result.err);
        assert.equal(count(result, REASON), 1, result.err);
      });

  test('by a command that waits in a cluster', async () => {
    await using cluster = await Cluster.start();
    cluster.store('sites/west', { spec: {}, status: ready() });
    const conditions = [condition('Configured', 'False', REASON)];
    cluster.store('listeners/web', {
      spec: { routingKey: 'web', host: 'web', port: 80 },
      status: { status: 'Error', message: REASON, conditions },
    });
    const result = await cluster.earshot(['wait', 'listener/web', ...LONG]);
    assert.deepEqual([result.code, count(result, REASON)], [3, 1], result.err);
  });
});
