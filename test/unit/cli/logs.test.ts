import assert from 'node:assert/strict';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { logCommands, logSourceOf, type LogSource, type Output } from '../../../src/cli/actions/log-sources.ts';
import { Cluster } from './cluster.ts';
import { Namespace } from './namespace.ts';
import { RunningSite } from './running-site.ts';

const outputTo = (target: string | undefined): Output | undefined =>
  target === undefined ? undefined : { target, isFile: /log/.test(target) };

describe('the log of a process', () => {
  const system = '0::/system.slice/earshot-west.service\n';
  const user = '0::/user.slice/user-1000.slice/user@1000.service/app.slice/earshot-west.service\n';
  const session = '0::/user.slice/user-1000.slice/session-3.scope\n';
  const cases: readonly (readonly [what: string, output: string | undefined, groups: string, source: object])[] = [
    ['a service of the system', 'socket:[1]', system, { kind: 'journal', unit: 'earshot-west.service', isUser: false }],
    ['a service of a user', 'socket:[1]', user, { kind: 'journal', unit: 'earshot-west.service', isUser: true }],
    [
      'a service with a group of its own',
      'socket:[1]',
      '0::/system.slice/x.service/main\n',
      { kind: 'journal', unit: 'x.service', isUser: false },
    ],
    [
      'cgroups of version 1',
      'socket:[1]',
      `4:memory:/a\n1:name=systemd:/system.slice/x.service\n`,
      { kind: 'journal', unit: 'x.service', isUser: false },
    ],
    ['a service that writes to a file', '/var/log/earshot.log', system, { kind: 'file', path: '/proc/7/fd/1' }],
    ['a process with its output in a file', '/tmp/log (deleted)', session, { kind: 'file', path: '/proc/7/fd/1' }],
  ];
  for (const [what, output, groups, source] of cases)
    it(`is found: ${what}`, () => assert.deepEqual(logSourceOf(7, outputTo(output), groups), source));

  for (const [output, why] of [
    ['/dev/pts/3', /to the terminal \/dev\/pts\/3/],
    ['/dev/null', /nowhere/],
    ['pipe:[5]', /to a pipe/],
    ['socket:[5]', /to a pipe/],
    [undefined, /belongs to another user: try again as that user, or with sudo/],
  ] as const)
    it(`cannot be shown where it goes ${String(why)}`, () => {
      const source = logSourceOf(7, outputTo(output), session);
      assert.match(source.kind === 'elsewhere' ? source.why : '', why);
    });

  it('is printed by one program for all units of a systemd, and one for all files', () => {
    const journal = (unit: string, isUser = false): LogSource => ({ kind: 'journal', unit, isUser });
    const file = (path: string): LogSource => ({ kind: 'file', path });
    const commands = logCommands([journal('a'), file('/x'), journal('b'), journal('c', true), file('/y')], { lines: 5, follow: true });
    assert.deepEqual(
      commands.map((words) => words.join(' ')),
      [
        'journalctl --user --no-pager --output cat --lines 5 --follow --unit c',
        'journalctl --no-pager --output cat --lines 5 --follow --unit a --unit b',
        'tail --quiet --lines 5 --follow /x /y',
      ],
    );
    assert.deepEqual(logCommands([], { lines: 5, follow: false }), []);
  });
});

describe('earshot logs', () => {
  it('shows the last lines of the file that a process writes to', async () => {
    await using west = await Namespace.make();
    await using site = await RunningSite.make();
    const file = openSync(join(west.home, 'log'), 'w');
    await site.start(file);
    closeSync(file);
    process.env['EARSHOT_HOME'] = site.home;
    const { code, out, err } = await west.earshot(['logs']);
    assert.equal(code, 0, err);
    assert.match(out, /"message":"running"/);
    assert.equal((await west.earshot(['logs', '--tail', '1'])).out.split('\n').length, 2);
  });

  it('explains why there are none', async () => {
    await using west = await Namespace.make();
    const { code, err } = await west.earshot(['logs']);
    assert.deepEqual([code, /The namespace west has no log: no process runs it, and systemd has no unit for it/.test(err)], [6, true]);
    await using site = await RunningSite.make();
    await site.start();
    process.env['EARSHOT_HOME'] = site.home;
    const nowhere = await west.earshot(['logs']);
    assert.deepEqual(
      [nowhere.code, /The log cannot be read here: process \d+ writes its log nowhere/.test(nowhere.err)],
      [1, true],
      nowhere.err,
    );
  });

  it('shows those of all pods of routers in a cluster, and says whose each line is', async () => {
    await using cluster = await Cluster.start();
    const labels = { 'skupper.io/component': 'router', 'skupper.io/type': 'site' };
    const none = await cluster.earshot(['logs']);
    assert.deepEqual([none.code, /The namespace west of the cluster of context "here" has no router pods/.test(none.err)], [6, true]);
    cluster.store('pods/one', { metadata: { labels } });
    cluster.store('pods/other', {});
    assert.equal((await cluster.earshot(['logs'])).out, 'log of one\n');
    cluster.store('pods/two', { metadata: { labels } });
    assert.equal((await cluster.earshot(['logs'])).out, '[one] log of one\n[two] log of two\n');
    assert.equal(
      (await cluster.earshot(['logs', '--follow', '--tail', '3'])).out.split('\n').toSorted().join(),
      ',[one] log of one,[two] log of two',
    );
    const { query } = cluster.requests.findLast(({ what }) => what === 'pods/two/log') ?? {};
    assert.deepEqual(
      ['container', 'tailLines', 'follow'].map((name) => query?.get(name)),
      ['router', '3', 'true'],
    );
  });
});
