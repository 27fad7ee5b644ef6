import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ChangeLog } from '../../../src/console/change-log.ts';

const objects = (count: number, value: number): ReadonlyMap<string, object> =>
  new Map(Array.from({ length: count }, (_, at) => [`id-${at}`, { value, name: at }]));

test('a page resumes while its events are kept, and not after too many changed objects', () => {
  const log = new ChangeLog({ events: 10, objects: 100 }, 'e');
  log.update('keys', objects(40, 1), '');
  log.update('keys', objects(40, 2), '');
  assert.deepEqual(
    log.after('e-1')?.map(({ number, changes }) => [number, Object.keys(changes).length, changes['id-0']]),
    [[2, 40, { value: 2 }]],
  );
  assert.deepEqual(log.after('e-2'), []);
  log.update('keys', objects(40, 3), '');
  log.update('keys', objects(40, 4), '');
  assert.equal(log.after('e-1'), undefined);
  assert.equal(log.after('e-2')?.length, 2);
  assert.deepEqual([log.after('e-9'), log.after('other-2'), log.after('e-x')], [undefined, undefined, undefined]);
});

test('an event has null for an object or a field that is gone, and none without a change', () => {
  const log = new ChangeLog({ events: 10, objects: 100 }, 'e');
  log.update(
    'links',
    new Map<string, object>([
      ['a', { name: 'a', problem: 'x' }],
      ['__proto__', { name: 'p' }],
    ]),
    '',
  );
  assert.equal(
    log.update(
      'links',
      new Map<string, object>([
        ['a', { name: 'a', problem: 'x' }],
        ['__proto__', { name: 'p' }],
      ]),
      '',
    ),
    undefined,
  );
  const event = log.update('links', new Map<string, object>([['a', { name: 'a' }]]), '');
  assert.equal(JSON.stringify(event?.changes), '{"a":{"problem":null},"__proto__":null}');
});
