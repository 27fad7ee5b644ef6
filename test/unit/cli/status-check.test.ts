import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { watchOutput } from '../../../src/cli/actions/watching.ts';
import { directoryResources } from '../../../src/platform/linux/resources.ts';
import { headline, listNotReady, overviewKinds, quietKinds } from '../../../src/site/overview.ts';
import type { SiteObject } from '../../../src/site/resources.ts';
import { Namespace } from './namespace.ts';

const object = (kind: string, name: string, status: object = {}, spec: object = {}): SiteObject =>
  ({ apiVersion: 'skupper.io/v2alpha1', kind, metadata: { name }, spec, status }) as unknown as SiteObject;
const NOW = Date.parse('2030-01-01T00:00:00Z');

describe('what is not ready', () => {
  it('is anything of any kind whose status does not say Ready', () => {
    for (const kind of ['Site', ...overviewKinds, ...quietKinds]) {
      for (const status of [{}, { status: 'Pending' }, { status: 'Error', message: 'why' }]) {
        const expected = [{ kind, name: 'a', status: 'Pending', message: '', ...status }];
        assert.deepEqual(listNotReady([object(kind, 'a', status), object(kind, 'b', { status: 'Ready' })], NOW), expected, kind);
      }
    }
  });

  it('is not what a condition alone calls ready, nor what is only kept', () => {
    const condition = (type: string) => ({ conditions: [{ type, status: 'True', reason: 'x', message: '', lastTransitionTime: '' }] });
    const kept = [
      object('Certificate', 'a', condition('Ready')),
      object('AccessToken', 'b', condition('Redeemed')),
      object('AccessToken', 'c', { redeemed: true }),
      object('AccessGrant', 'd', { redemptions: 1 }, { redemptionsAllowed: 1 }),
      object('AccessGrant', 'e', { expirationTime: '2029-01-01T00:00:00Z' }),
    ];
    assert.deepEqual(listNotReady(kept, NOW), []);
  });

  const cases: readonly (readonly [string, readonly string[], string])[] = [
    ['Ready', [], 'Ready'],
    ['Ready', ['Link'], 'Ready, but 1 Link is not'],
    ['Ready', ['Listener', 'Link', 'Listener'], 'Ready, but 1 Link and 2 Listeners are not'],
    ['Ready', ['Link', 'Listener', 'RouterAccess', 'RouterAccess'], 'Ready, but 1 Link, 1 Listener and 2 RouterAccesses are not'],
    ['Pending', ['Link'], 'Pending, and 1 Link is not ready'],
    ['Error', ['Site'], 'Error'],
  ];
  for (const [status, kinds, expected] of cases)
    it(`makes the headline "${expected}"`, () => {
      const objects = kinds.map((kind, index) => object(kind, `x${index}`));
      assert.equal(headline(status, listNotReady(objects, NOW)), expected);
    });
});

describe('earshot status', () => {
  it('counts in its headline what is not ready, and fails with --check', async () => {
    await using west = await Namespace.make();
    await west.run();
    await west.answer('Site', 'west', {}, { status: 'Ready', message: 'OK' });
    assert.deepEqual((await west.earshot(['status', '--check'])).code, 0);
    await west.answer('Link', 'east', { endpoints: [] }, { status: 'Error', message: 'Connection refused' });
    await west.answer('Listener', 'web', { routingKey: 'web', host: 'h', port: 1 }, { status: 'Pending' });
    const plain = await west.earshot(['status']);
    assert.deepEqual([plain.code, /^Status: +Ready, but 1 Link and 1 Listener are not$/m.test(plain.out)], [0, true]);
    const checked = await west.earshot(['status', '--check']);
    assert.deepEqual([checked.code, checked.err], [1, 'Not ready: Link/east, Listener/web.\n']);
    assert.equal(checked.out, plain.out);
    const json = await west.earshot(['status', '--check', '-o', 'json']);
    assert.equal(json.code, 1);
    const { ready, notReady } = JSON.parse(json.out);
    assert.deepEqual([ready, notReady.length, notReady[0].message], [false, 2, 'Connection refused']);
  });

  it('fails with --check without a site, without a process, and with files that cannot be used', async () => {
    await using west = await Namespace.make();
    assert.match((await west.earshot(['status', '--check'])).err, /has no site yet.*No process runs the namespace/s);
    assert.equal((await west.earshot(['status', '--check'])).code, 6);
    await west.run();
    assert.equal((await west.earshot(['status', '--check'])).code, 1);
    await west.answer('Site', 'west', {}, { status: 'Ready' });
    const problem = (severity: string) => `problems: [{file: a.yaml, severity: ${severity}, message: it is not YAML}]\n`;
    await west.write(west.layout.runtime.problems, problem('warning'));
    assert.equal((await west.earshot(['status', '--check'])).code, 0);
    await west.write(west.layout.runtime.problems, problem('error'));
    const { code, err } = await west.earshot(['status', '--check']);
    assert.deepEqual([code, err], [1, 'Some files cannot be used.\n']);
  });

  it('is shown again after each change with --watch, and only then', async () => {
    await using west = await Namespace.make();
    const until = new AbortController();
    const screens = ['one', 'one', 'two', 'two', 'three'];
    let out = '';
    const terminal = { out: (text: string) => void (out += text), note: (text: string) => void (out += text), input: async () => '' };
    const context = { resources: { ...directoryResources(west.layout), wait: async () => {} }, terminal };
    await watchOutput(
      context,
      undefined,
      async ({ terminal: shown }) => {
        shown.out(`${screens.shift() ?? ''}\n`);
        if (screens.length === 0) until.abort();
      },
      { until: until.signal, every: 1 },
    );
    assert.equal(out, 'one\n---\ntwo\n---\nthree\n');
  });

  it('goes on with --watch after a failure, which it writes once to standard error, but not where the first read fails', async () => {
    await using west = await Namespace.make();
    const until = new AbortController();
    const screens = ['one', 'no answer.', 'no answer.', 'refused.', 'one', 'one', 'two'];
    const written: string[] = [];
    const terminal = {
      out: (text: string) => void written.push(text),
      note: (text: string) => void written.push(`stderr: ${text}`),
      input: async () => '',
    };
    const waits = { failures: 1 };
    const wait = async (): Promise<void> => {
      if (waits.failures-- > 0) throw new Error('no answer.');
    };
    const context = { resources: { ...directoryResources(west.layout), wait }, terminal };
    const show = async ({ terminal: shown }: typeof context): Promise<void> => {
      const screen = screens.shift() ?? '';
      if (screens.length === 0) until.abort();
      if (screen.endsWith('.')) throw new Error(screen);
      shown.out(`${screen}\n`);
    };
    const pace = { until: until.signal, every: 1, retryAfter: 1 };
    await watchOutput(context, undefined, show, pace);
    assert.deepEqual(written, [
      'one\n',
      'stderr: earshot: no answer. Trying again.\n',
      'stderr: earshot: refused. Trying again.\n',
      '---\n',
      'one\n',
      '---\n',
      'two\n',
    ]);
    screens.push('not found.');
    await assert.rejects(watchOutput(context, undefined, show, { every: 1, retryAfter: 1 }), /not found/);
  });

  it('cannot both end with a check and go on', async () => {
    await using west = await Namespace.make();
    assert.equal((await west.earshot(['status', '--check', '--watch'])).code, 2);
  });
});
