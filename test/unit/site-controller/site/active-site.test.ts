import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Site } from '../../../../src/api/skupper/index.ts';
import { activeSite } from '../../../../src/site-controller/site/active-site.ts';
import type { KubeObject } from '../../../../src/kube/objects.ts';

const apiVersion = 'skupper.io/v2alpha1';
const east = aSite('east', 'e1');
const west = aSite('west', 'w1');

describe('the Site that a namespace is', () => {
  for (const [what, sites, created, expected] of [
    ['none without a Site', [], [], undefined],
    ['the first by name, where nothing runs', [east, west], [undefined, undefined], east],
    ['the one that owns what runs', [east, west], [ownedBy('w1'), ownedBy('w1')], west],
    ['the one that owns what is left of it', [east, west], [undefined, ownedBy('w1')], west],
    ['the next, once that one is gone', [east], [ownedBy('w1')], east],
    ['the next, once that one goes', [east, aSite('west', 'w1', { deletionTimestamp: '2026-01-01T00:00:00Z' })], [ownedBy('w1')], east],
    ['none, while the only one goes', [aSite('west', 'w1', { deletionTimestamp: '2026-01-01T00:00:00Z' })], [ownedBy('w1')], undefined],
    ['the new one of the same name', [aSite('west', 'w2')], [ownedBy('w1')], 'w2'],
    ['the first, where the owner is something else of that uid', [east, west], [ownedBy('w1', 'ConfigMap')], east],
    ['the one that is alive of two owners', [west], [ownedBy('gone', 'Site', 'w1')], west],
  ] as const) {
    test(what, () => {
      const found = activeSite(sites, created);
      assert.equal(found?.metadata.uid, typeof expected === 'string' ? expected : expected?.metadata.uid);
    });
  }
});

function aSite(name: string, uid: string, more: Site['metadata'] = {}): Site {
  return { apiVersion, kind: 'Site', metadata: { name, uid, ...more }, spec: {} };
}

function ownedBy(uid: string, kind = 'Site', ...others: readonly string[]): KubeObject {
  const ownerReferences = [uid, ...others].map((each) => ({ apiVersion, kind, name: 'x', uid: each }));
  return { metadata: { name: 'skupper-router', ownerReferences } };
}
