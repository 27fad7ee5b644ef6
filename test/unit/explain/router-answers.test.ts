import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { readIncoming, readLinks, readPast, readSelf } from '../../../src/explain/gather/router-answers.ts';

const links = (more: object): unknown => ({ items: [], incoming: [], endedIncoming: [], ...more });
const peer = { siteId: 'east-id', siteName: 'east', address: '192.0.2.1' };

suite('answers of several routers', () => {
  test('a link works if one router has it', () => {
    const down = links({ items: [{ name: 'east', operational: false, problem: { code: 'refused', message: 'no' } }] });
    const up = links({ items: [{ name: 'east', operational: true }] });
    for (const answers of [
      [down, up],
      [up, down],
    ])
      assert.deepEqual(readLinks(answers).get('east'), { operational: true });
    assert.equal(readLinks([down]).get('east')?.problem?.code, 'refused');
  });

  test('a router of any version has its start, and the figures that it reports', () => {
    const old = { router: 'router', startedAt: '2030-01-01T00:00:00Z' };
    const known = { router: 'router', startedAt: Date.parse('2030-01-01T00:00:00Z') };
    assert.deepEqual(readSelf(old), known);
    const figures = { eventLoopDelay: 2.5, contested: { count: 3, last: 7 } };
    assert.deepEqual(readSelf({ ...old, ...figures }), { ...known, ...figures });
  });

  test('a failed connection has the names of the router that refused it', () => {
    const to = { site: 'east-id', siteName: 'east', router: 'east-id/router-2' };
    const item = { state: 'failed', ended: '2030-01-01T00:00:00Z', end: 'peer-refused', halves: ['first'] };
    const unknown = { site: null, siteName: null, router: null };
    assert.deepEqual(
      readPast({
        items: [
          { ...item, to },
          { ...item, to: unknown },
        ],
      }).map(({ by }) => by),
      [
        { site: 'east', router: 'router-2' },
        { site: '', router: '' },
      ],
    );
  });

  test('an incoming link that moved to another router has not ended', () => {
    const ended = links({ endedIncoming: [{ ...peer, until: 1, reason: 'lost' }] });
    assert.deepEqual(readIncoming([ended, links({ incoming: [peer] })]), [{ ...peer, operational: true }]);
    assert.deepEqual(readIncoming([ended, links({})]), [{ ...peer, operational: false, ended: { at: 1, reason: 'lost' } }]);
  });
});
