/** Each place in which the node driver keeps what it knows of a pod × deleted, an older copy, truncated, unreadable. */
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import type { PodListeners } from '../../../../src/api/listeners/index.ts';
import { DRIVER_NAME } from '../../../../src/api/listeners/names.ts';
import { ip, NodeFixture, POD_KEY, POD_UID, startDriver, until } from './node-fixture.ts';

const RECORD = 'default/web-0';
const damages = ['deleted', 'older', 'truncated', 'unreadable'] as const;
type Damage = (typeof damages)[number];

const recordsOf = ({ kubeletDir }: NodeFixture): string => join(kubeletDir, 'plugins', DRIVER_NAME, 'pods');
const addressIn = (fixture: NodeFixture): string => readFileSync(join(fixture.target(), 'default-address/address'), 'utf8');

function spoilRecord(fixture: NodeFixture, how: Damage): void {
  const path = join(recordsOf(fixture), POD_UID);
  rmSync(path);
  if (how === 'truncated') symlinkSync(RECORD.slice(0, -2), path);
  if (how === 'unreadable') writeFileSync(path, 'nonsense');
  // The folder as it was before this pod.
  if (how === 'older') symlinkSync('default/earlier-0', join(recordsOf(fixture), '0f1e2d3c-0000-4000-8000-000000000009'));
}

function spoilRecords(fixture: NodeFixture, how: Damage): void {
  const folder = recordsOf(fixture);
  rmSync(folder, { recursive: true });
  if (how === 'deleted') return;
  mkdirSync(folder);
  for (const name of how === 'older' ? [] : [POD_UID.slice(0, 8), 'not a uid', '.hidden'])
    symlinkSync(how === 'truncated' ? 'default/' : '..', join(folder, name));
}

function spoilRequest(fixture: NodeFixture, how: Damage): void {
  const object = fixture.cache.get(POD_KEY);
  assert.ok(object !== undefined);
  const { nodeName, mounts = {} } = object.spec;
  if (how === 'deleted') fixture.lose();
  else if (how === 'older') fixture.put({ ...object, spec: { ...(nodeName === undefined ? {} : { nodeName }), mounts, listeners: {} } });
  else if (how === 'truncated')
    fixture.put({ ...object, spec: { ...(nodeName === undefined ? {} : { nodeName }), mounts: {}, listeners: {} } });
  else {
    const listeners = { 'pvc-1': { volumeHandle: 'pvc-1', ingressAddresses: [] } } as unknown as PodListeners['spec']['listeners'];
    fixture.put({ ...object, spec: { ...object.spec, listeners } });
  }
}

const states: readonly (readonly [name: string, spoil: (fixture: NodeFixture, how: Damage) => void])[] = [
  ['the record of a pod', spoilRecord],
  ['the folder of records', spoilRecords],
  ['PodListeners', spoilRequest],
];

describe('State of the node driver that is lost', () => {
  for (const [name, spoil] of states) {
    for (const how of damages) {
      test(`is not taken for the end of a volume: ${name} ${how}`, async () => {
        using fixture = new NodeFixture();
        let shown = '10.0.0.1';
        fixture.answerWith(() => [ip(shown)]);
        {
          await using first = await startDriver(fixture);
          await first.node.nodePublishVolume(fixture.request());
          await until(() => readdirSync(recordsOf(fixture)).includes(POD_UID));
        }
        writeFileSync(join(dirname(fixture.target()), 'vol_data.json'), JSON.stringify({ volumeHandle: 'pvc-1', driverName: DRIVER_NAME }));
        spoil(fixture, how);
        {
          await using _second = await startDriver(fixture);
          fixture.cache.relist('9');
          await until(() => Object.hasOwn(fixture.cache.get(POD_KEY)?.spec.mounts ?? {}, 'pvc-1'));
          assert.equal(addressIn(fixture), '10.0.0.1');
          await until(() => readlinkOrEmpty(join(recordsOf(fixture), POD_UID)) === RECORD);
        }
        // The lost object is whole again, so the loss of the other one changes nothing either.
        fixture.lose();
        shown = '10.0.0.2';
        await using _third = await startDriver(fixture);
        fixture.cache.relist('10');
        await until(() => addressIn(fixture) === '10.0.0.2');
        assert.deepEqual(
          fixture.cache.get(POD_KEY)?.metadata.ownerReferences?.map((owner) => owner.name),
          ['web-0'],
        );
        assert.deepEqual(readdirSync(recordsOf(fixture)), [POD_UID]);
      });
    }
  }
});

function readlinkOrEmpty(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}
