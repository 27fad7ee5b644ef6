import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodListeners } from '../../../../src/api/listeners/index.ts';
import type { MountState } from '../../../../src/exposure/mounts/mount-answers.ts';
import { MountProgress } from '../../../../src/exposure/mounts/mount-progress.ts';

const request: PodListeners = { metadata: { name: 'request', namespace: 'shop' }, spec: { listeners: {}, mounts: { one: {} } } };
const waiting = { reason: 'ListenerNotFound', message: 'It is not there.' } as const;
const waits: readonly MountState[] = [{ handle: 'one', waiting }];

function begun(): { readonly progress: MountProgress; readonly at: (milliseconds: number) => void } {
  let now = 0;
  const progress = new MountProgress(() => now);
  progress.begin(request, 'one');
  return { progress, at: (milliseconds) => (now = milliseconds) };
}

test('the missing input of a mount is shown after a second and a half, and checked again by then', () => {
  const { progress, at } = begun();
  at(500);
  assert.deepEqual(progress.update(request, waits), { shown: new Map(), next: 1_000 });
  at(1_500);
  assert.deepEqual(progress.update(request, waits), { shown: new Map([['one', waiting]]), next: undefined });
});

test('a stage on the way is shown after ten seconds only', () => {
  const { progress, at } = begun();
  at(1_500);
  const stage: readonly MountState[] = [{ handle: 'one', waiting: { ...waiting, reason: 'ServicePending' } }];
  assert.deepEqual(progress.update(request, stage), { shown: new Map(), next: 8_500 });
});

test('a prepared volume is known until its mount is complete or its request is gone; then the wait restarts', () => {
  const { progress, at } = begun();
  const prepared = { listenerUid: 'listener', volumes: ['data'], isLabelled: true };
  progress.setPrepared(request, 'one', prepared);
  assert.deepEqual(progress.prepared(request, 'one'), prepared);
  at(5_000);
  assert.deepEqual(progress.update(request, [{ handle: 'one', entries: {} }]).shown, new Map([['one', undefined]]));
  assert.equal(progress.prepared(request, 'one'), undefined);
  progress.begin(request, 'one');
  assert.equal(progress.update(request, waits).next, 1_500);
  progress.setPrepared(request, 'one', prepared);
  progress.forget('shop/request');
  assert.equal(progress.prepared(request, 'one'), undefined);
});
