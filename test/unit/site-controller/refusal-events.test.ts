import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reportRefusals } from '../../../src/site-controller/refusal-events.ts';
import type { EventRecorder } from '../../../src/kube/contract.ts';
import type { ResourceKey } from '../../../src/site/resources.ts';
import { aListener, aRouterAccess, aSite } from '../site/fixtures.ts';

test('a refusal of a listener is reported in an event, but not one of an object that has its own message or is gone', () => {
  const told: Parameters<EventRecorder['record']>[0][] = [];
  const listener = { ...aListener('web'), metadata: { name: 'web', namespace: 'west', uid: 'uid-web' } };
  const refused = (resource: ResourceKey) => ({ resource, severity: 'error', code: 'object-refused', message: `of ${resource}` }) as const;
  reportRefusals(
    [aSite(), aRouterAccess('ra'), listener],
    [refused('Site/west'), refused('RouterAccess/ra'), refused('Listener/gone'), refused('Listener/web')],
    { record: (event) => void told.push(event) },
  );
  assert.deepEqual(told, [
    {
      regarding: { apiVersion: 'skupper.io/v2alpha1', kind: 'Listener', namespace: 'west', name: 'web', uid: 'uid-web' },
      type: 'Warning',
      reason: 'ObjectRefused',
      action: 'Make',
      note: 'of Listener/web',
    },
  ]);
});
