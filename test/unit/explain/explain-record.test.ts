import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { explainRecord, type RecordFacts } from '../../../src/explain/connection/explain-record.ts';
import type { SiteFacts, SiteOfNetwork } from '../../../src/explain/connection/site-facts.ts';
import { gatherRecord } from '../../../src/explain/gather/gather-record.ts';

const site = (name: string): SiteOfNetwork => ({ id: `id-${name}`, name, version: '1', isEdge: false, routers: [], links: [], keys: [] });

const facts = (...sites: readonly string[]): SiteFacts => ({
  place: { namespace: 'west', where: 'here', commandFlags: ' -n west', isMachine: true },
  version: '1',
  now: Date.parse('2030-01-01T00:01:00Z'),
  stopped: { value: undefined },
  objects: { value: [] },
  written: { value: [] },
  problems: { value: [] },
  network: { value: { sites: sites.map(site) } },
  links: { value: new Map() },
  incoming: { value: [] },
  bundles: { value: [] },
});

const open: RecordFacts = {
  id: 'a1',
  key: 'web',
  state: 'open',
  begun: '2030-01-01T00:00:00Z',
  ended: null,
  idle: 3_000,
  from: { site: 'id-west', siteName: 'west', client: '192.0.2.7:5000', listener: 'Listener/web' },
  via: ['id-hub/router'],
  to: { site: 'id-east', siteName: 'east', router: 'id-east/router', server: null },
  bytes: { up: 10, down: 20 },
  ms: { connect: 5, firstByte: 7 },
  end: null,
  message: null,
  halves: ['first'],
};

const stepsOf = (record: RecordFacts, sites: readonly string[] = ['west', 'hub', 'east'], others: readonly RecordFacts[] = []) => {
  const { steps } = explainRecord(facts(...sites), 'a1', { value: [record, ...others] }) ?? assert.fail('no such connection');
  return new Map(steps.map(({ id, state, says, code }) => [id.replace('connection.', ''), `${state}${code ? ` ${code}` : ''}: ${says}`]));
};

suite('an explanation of a connection', () => {
  test('shows both ends, the path and what passed', () => {
    assert.deepEqual(Object.fromEntries(stepsOf(open)), {
      process: 'pass: runs',
      record: 'pass: open since 2030-01-01T00:00:00Z (1m), routing key "web"',
      client: 'pass: 192.0.2.7:5000 at Listener/web of site west',
      path: 'pass: west > hub > east',
      server: 'pass: at site east, connected after 5 ms; its address is known there: `earshot explain connection a1`',
      data: 'pass: 10 bytes to the server, 20 to the client, first byte of the server after 7 ms, idle for 3s',
    });
    const last = { ...open, halves: ['last'], to: { ...open.to, server: '127.0.0.1:80' } };
    assert.equal(stepsOf(last).get('client'), 'pass: began at site west, which has the address of the client');
    assert.equal(stepsOf(last).get('server'), 'pass: 127.0.0.1:80 at site east, connected after 5 ms');
  });

  for (const [what, record, step, text] of [
    [
      'no server accepted',
      { state: 'failed', end: 'refused', message: 'nothing listens' },
      'server',
      /^fail refused: no server at site east/,
    ],
    [
      'a server here refused',
      { state: 'failed', end: 'refused', message: 'nothing listens', halves: ['first', 'last'] },
      'server',
      /^fail target-refused: .*: nothing listens$/,
    ],
    ['the server never answered', { bytes: { up: 10, down: 0 } }, 'data', /^warn: .*; the server has not answered yet$/],
    ['its path broke', { state: 'ended', end: 'path-broke', ended: '2030-01-01T00:00:09Z' }, 'end', /^warn: a link on its path ended$/],
    ['its end was orderly', { state: 'ended', end: 'orderly', ended: '2030-01-01T00:00:09Z' }, 'end', /^pass: client and server ended it$/],
  ] as const)
    test(`says that ${what}`, () => assert.match(stepsOf({ ...open, ...record }).get(step) ?? '', text));

  test('names the router whose log has the reason of a refusal', () => {
    const { steps } = explainRecord(facts('west', 'east'), 'a1', { value: [{ ...open, state: 'failed', end: 'peer-refused' }] }) ?? {};
    assert.equal(steps?.find(({ id }) => id === 'connection.server')?.do, 'At site east, see the log of router router: `earshot logs`.');
  });

  test('warns of a site on the path of an open connection that is not reachable any more, and of an ID that is used twice', () => {
    assert.match(stepsOf(open, ['west', 'east']).get('path') ?? '', /^warn silent: west > id-hub > east; not reachable now: id-hub$/);
    assert.match(stepsOf(open, undefined, [open]).get('record') ?? '', /^warn: .* 1 more connection has the same ID$/);
  });

  test('does not exist without a record, and is unknown without an answer', () => {
    assert.equal(explainRecord(facts('west'), 'a1', { value: [] }), undefined);
    assert.equal(explainRecord(facts('west'), 'a1', { unknown: 'the router API is not reachable from here' })?.verdict, 'unknown');
  });
});

test('the halves that several routers have become one connection, with bounded text', async () => {
  const first = { ...open, key: 'x'.repeat(5_000) };
  const last = { ...first, halves: ['last'], from: { site: 'id-west' }, to: { ...open.to, server: '127.0.0.1:80' } };
  const asked: string[] = [];
  const askRouters = async (path: string): Promise<readonly unknown[]> => {
    asked.push(path);
    return path.includes('state=open') ? [{ items: [first, { id: 'other' }] }, { items: [last] }, 'none'] : [{ items: 7 }];
  };
  // Only the API of routers is used.
  const found = await gatherRecord({ askRouters, resources: undefined as never }, 'a1');
  assert.ok('value' in found);
  const [record, ...more] = found.value;
  assert.deepEqual([record?.from.client, record?.to.server, more.length], ['192.0.2.7:5000', '127.0.0.1:80', 0]);
  assert.ok((record?.key.length ?? 0) <= 512);
  assert.equal(asked.length, 3);
});
