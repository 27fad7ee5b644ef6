import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { TestContext } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';

import { ApiError } from '../../../src/kube/errors.ts';
import { createEventRecorder } from '../../../src/kube/events/events.ts';
import { type Event, type EventInput, cutBytes, eventObject } from '../../../src/kube/events/event-record.ts';
import type { EventRecorder, KubeClient, Key } from '../../../src/kube/contract.ts';
import { eventually } from '../../harness/wait.ts';

const reporter = { controller: 'listeners.stackable.tech/controller', instance: 'pod-1' };

function input(fields: Partial<EventInput> & { readonly name?: string } = {}): EventInput {
  const { name = 'web', ...rest } = fields;
  const regarding = { apiVersion: 'listeners.stackable.tech/v1alpha1', kind: 'Listener', namespace: 'default', name, uid: 'u' };
  return { regarding, type: 'Normal', reason: 'Created', action: 'Create', note: 'a Service', ...rest };
}

/** A recorder, and the API server that it writes to. */
class Office {
  readonly created: Event[] = [];
  readonly patched: (readonly [name: string, count: number | undefined])[] = [];
  readonly outcomes: string[] = [];
  /** Thrown by the next calls, one each. */
  readonly failures: unknown[] = [];
  /** Calls wait while it is set. */
  held: Promise<void> | undefined;
  readonly recorder: EventRecorder;

  constructor(told = true) {
    const act = async (): Promise<void> => {
      await this.held;
      const failure = this.failures.shift();
      if (failure !== undefined) throw failure;
    };
    const client = {
      create: async (_of: unknown, object: Event) => {
        await act();
        this.created.push(object);
        return object;
      },
      patch: async (_of: unknown, key: Key, patch: Partial<Event>) => {
        await act();
        this.patched.push([key.name, patch.series?.count]);
        return patch;
      },
    };
    this.recorder = createEventRecorder({
      ...reporter,
      // Events are all that is asked of it.
      client: client as unknown as Pick<KubeClient, 'create' | 'patch'>,
      ...(told ? { onResult: (outcome: string): unknown => this.outcomes.push(outcome) } : {}),
    });
  }

  outcome(count: number): Promise<true> {
    return eventually(`${count} outcomes`, () => this.outcomes.length === count);
  }
}

function timers(t: TestContext): (milliseconds: number) => Promise<void> {
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  t.mock.timers.enable({ apis: ['setTimeout'] });
  return async (milliseconds) => {
    await turn();
    now += milliseconds;
    t.mock.timers.tick(milliseconds);
    await turn();
    await turn();
  };
}

const apiError = (status: number, reason = ''): ApiError => new ApiError('event', { status, reason, message: reason });

describe('an event', () => {
  it('is written with its reporter, its reason and its object', async () => {
    const office = new Office();
    office.recorder.record(input());
    await office.outcome(1);
    const [event] = office.created;
    assert.partialDeepStrictEqual(event, {
      metadata: { namespace: 'default' },
      reportingController: 'listeners.stackable.tech/controller',
      reportingInstance: 'pod-1',
      action: 'Create',
      reason: 'Created',
      note: 'a Service',
      type: 'Normal',
      regarding: { kind: 'Listener', name: 'web' },
    });
    assert.match(event?.eventTime ?? '', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  });

  it('of a cluster-scoped object lies in the namespace default', () => {
    const regarding = { apiVersion: 'v1', kind: 'Node', name: 'n' };
    assert.equal(eventObject(input({ regarding }), reporter, 'x', new Date()).metadata.namespace, 'default');
  });

  for (const [name, wanted] of [
    ['web', 'web.x'],
    ['Not:A..Name-', 'not-a.name.x'],
    ['../..', 'object.x'],
    ['a'.repeat(300), `${'a'.repeat(251)}.x`],
  ] as const) {
    it(`of ${name.slice(0, 20)} has a name that the API server takes`, () => {
      const found = eventObject(input({ name }), reporter, 'x', new Date()).metadata.name ?? '';
      assert.equal(found, wanted);
      assert.match(found, /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/);
    });
  }

  it('has a note of 1,024 bytes at most, cut between characters', () => {
    assert.equal(cutBytes('short', 1_024), 'short');
    for (const text of ['x'.repeat(2_000), '€'.repeat(1_000), '😀'.repeat(1_000), `${'x'.repeat(1_020)}\ud800\ud800\ud800`]) {
      const cut = cutBytes(text, 1_024);
      assert(Buffer.byteLength(cut) <= 1_024 && Buffer.byteLength(cut) > 1_015, String(Buffer.byteLength(cut)));
      assert.match(cut, /^(x+|€+|(😀)+)…$|\uFFFD/u);
      assert(cut.endsWith('…') && cut.isWellFormed());
    }
  });
});

describe('an event recorder', () => {
  it('keeps no more of a note than it writes: what differs beyond that is the same event', async () => {
    const office = new Office();
    const long = 'a'.repeat(1_100);
    office.recorder.record(input({ note: `${long}1` }));
    office.recorder.record(input({ note: `${long}2` }));
    await office.recorder[Symbol.asyncDispose]();
    assert.deepEqual([office.created.length, office.patched.map(([, count]) => count)], [1, [2]]);
  });

  it('raises a count where the same event comes again, some seconds later and for all at once', async (t) => {
    const pass = timers(t);
    const office = new Office();
    for (let i = 0; i < 3; i++) office.recorder.record(input());
    await office.outcome(1);
    await pass(9_999);
    assert.deepEqual([office.created.length, office.patched], [1, []]);
    office.recorder.record(input());
    await pass(1);
    assert.deepEqual(office.patched, [[office.created[0]?.metadata.name, 4]]);
    await pass(60_000);
    assert.deepEqual(office.outcomes, ['created', 'counted']);
  });

  it('writes events without a result listener', async () => {
    const office = new Office(false);
    office.recorder.record(input());
    office.recorder.record(input());
    await office.recorder[Symbol.asyncDispose]();
    assert.deepEqual([office.created.length, office.patched.length], [1, 1]);
  });

  it('writes another event where anything differs', async () => {
    const office = new Office();
    const fields = [{}, { reason: 'Other' }, { note: 'other' }, { action: 'Other' }, { type: 'Warning' as const }, { name: 'other' }];
    for (const each of fields) office.recorder.record(input(each));
    await office.outcome(6);
    assert.equal(new Set(office.created.map(({ metadata }) => metadata.name)).size, 6);
  });

  it('writes a new event where the last was more than six minutes ago', async (t) => {
    const pass = timers(t);
    const office = new Office();
    office.recorder.record(input());
    await office.outcome(1);
    await pass(6 * 60_000);
    office.recorder.record(input());
    await office.outcome(2);
    assert.deepEqual([office.created.length, office.patched.length], [2, 0]);
  });

  it('creates the event again if the counted one is gone', async (t) => {
    const pass = timers(t);
    const office = new Office();
    office.recorder.record(input());
    await office.outcome(1);
    office.recorder.record(input());
    office.failures.push(apiError(404, 'NotFound'));
    await pass(10_000);
    await office.outcome(2);
    assert.deepEqual([office.created.length, office.outcomes], [2, ['created', 'created']]);
  });

  it('tries again where the API server is not well, and gives up where it refuses', async (t) => {
    const pass = timers(t);
    const office = new Office();
    office.failures.push(apiError(500), apiError(503));
    office.recorder.record(input());
    await pass(1_000);
    await pass(2_000);
    await office.outcome(1);
    office.failures.push(apiError(403, 'Forbidden'));
    office.recorder.record(input({ note: 'refused' }));
    office.recorder.record(input({ note: 'another' }));
    await office.outcome(3);
    assert.deepEqual(office.outcomes, ['created', 'failed', 'created']);
  });

  it('gives up after three tries', async (t) => {
    const pass = timers(t);
    const office = new Office();
    office.failures.push(apiError(500), apiError(500), apiError(500));
    office.recorder.record(input());
    await pass(1_000);
    await pass(2_000);
    await office.outcome(1);
    assert.deepEqual(office.outcomes, ['failed']);
  });

  it('drops different events of one object beyond ten, and goes on for others', async () => {
    const office = new Office();
    for (let i = 0; i < 15; i++) office.recorder.record(input({ note: `flap ${i}` }));
    office.recorder.record(input({ name: 'other' }));
    await office.outcome(16);
    assert.deepEqual([office.created.length, office.outcomes.filter((outcome) => outcome === 'dropped').length], [11, 5]);
  });

  it('writes no more than twenty a second after a burst of fifty', async (t) => {
    const pass = timers(t);
    const office = new Office();
    for (let i = 0; i < 100; i++) office.recorder.record(input({ name: `n${i}` }));
    await eventually('the burst', () => office.created.length === 50);
    for (let i = 0; i < 20; i++) await pass(50);
    assert.equal(office.created.length, 70);
  });

  it('holds no more than a thousand that wait, and drops the rest', async () => {
    const office = new Office();
    const { promise, resolve } = Promise.withResolvers<void>();
    office.held = promise;
    for (let i = 0; i < 1_500; i++) office.recorder.record(input({ name: `n${i}` }));
    assert.equal(office.outcomes.length, 499);
    assert.deepEqual(new Set(office.outcomes), new Set(['dropped']));
    const closing = office.recorder[Symbol.asyncDispose]();
    resolve();
    await closing;
    assert.equal(office.created.length, 1_001);
  });

  it('writes what waits when it is closed, counts included, and takes nothing more', async () => {
    const office = new Office();
    office.recorder.record(input());
    await office.outcome(1);
    office.recorder.record(input());
    office.recorder.record(input({ note: 'last' }));
    await office.recorder[Symbol.asyncDispose]();
    office.recorder.record(input({ note: 'late' }));
    assert.deepEqual([office.created.map(({ note }) => note), office.patched.map(([, count]) => count)], [['a Service', 'last'], [2]]);
  });

  it('does not wait for a dead API server for ever when it is closed', async (t) => {
    const pass = timers(t);
    const office = new Office();
    office.failures.push(apiError(500), apiError(500), apiError(500));
    office.recorder.record(input());
    office.recorder.record(input({ note: 'second' }));
    await turn();
    const closing = office.recorder[Symbol.asyncDispose]();
    await pass(2_000);
    await closing;
    assert.equal(office.created.length, 0);
  });
});
