import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { obstacleOf } from '../../../../src/exposure/listeners/standing-service.ts';
import type { OwnerReference, Service } from '../../../../src/kube/objects.ts';
import { aListener, LISTENER_UID } from './fixtures.ts';

const owner = (uid: string, kind = 'Listener', isController = true): OwnerReference => ({
  apiVersion: kind === 'Listener' ? 'listeners.stackable.tech/v1alpha1' : 'apps/v1',
  kind,
  name: kind === 'Listener' ? 'web' : 'shop',
  uid,
  ...(isController ? { controller: true } : {}),
});

const said = (metadata: Service['metadata']): string => {
  const obstacle = obstacleOf({ metadata: { name: 'web', namespace: 'shop', ...metadata } }, aListener());
  return obstacle === undefined ? '' : `${obstacle.reason}: ${obstacle.message}`;
};

const deleted = { deletionTimestamp: '2030-01-01T00:00:00Z' };
const cleanup = { ...deleted, finalizers: ['service.kubernetes.io/load-balancer-cleanup'] };

describe('a Service of the name of a Listener', () => {
  for (const [what, metadata, expected] of [
    ['is its own', { ownerReferences: [owner(LISTENER_UID)] }, /^$/],
    [
      'is its own by name only',
      { ownerReferences: [owner('other')] },
      /^ServiceBeingReplaced: .*garbage collector is about to delete it\.$/,
    ],
    [
      'is marked as its own, by anybody',
      { labels: { 'listeners.stackable.tech/listener-name': 'web' } },
      /^ServiceNotOwned: .* was not created for/,
    ],
    [
      'is its own and being deleted',
      { ownerReferences: [owner(LISTENER_UID)], ...deleted },
      /^ServiceBeingReplaced: .* is being deleted .* takes a moment\.$/,
    ],
    [
      'is its own behind a finalizer',
      { ownerReferences: [owner(LISTENER_UID)], ...cleanup },
      /waits for the finalizer service\.kubernetes\.io\/load-balancer-cleanup, .* remove the finalizer/,
    ],
    [
      "is an earlier one's behind a finalizer",
      { ownerReferences: [owner('other')], ...cleanup },
      /^ServiceBeingReplaced: .*earlier Listener .*load-balancer-cleanup/,
    ],
    [
      'is kept by another owner',
      { ownerReferences: [owner('other'), owner('set', 'StatefulSet', false)] },
      /^ServiceNotOwned: .* and to StatefulSet shop, so Kubernetes keeps it/,
    ],
    [
      "is another controller's",
      { ownerReferences: [owner('set', 'StatefulSet')] },
      /^ServiceNotOwned: .* belongs to StatefulSet shop, so it is not changed/,
    ],
  ] as const) {
    test(what, () => assert.match(said(metadata), expected));
  }
});
