import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { afterEnd, planSupervisor, routerNames, type SupervisedRouter } from '../../../src/platform/linux/supervisor-plan.ts';

const running: SupervisedRouter = { kind: 'running', since: 0, failures: 0 };
const stopping: SupervisedRouter = { kind: 'stopping' };
const failed = (retryAt: number): SupervisedRouter => ({ kind: 'failed', retryAt, failures: 1 });

const nothing = { start: [], stop: [], forget: [], again: undefined };

describe('a supervisor of routers', () => {
  for (const [what, count, known, plan] of [
    ['starts all routers of a site', 2, {}, { start: ['router', 'router-2'] }],
    ['starts only the router that is missing', 2, { router: running }, { start: ['router-2'] }],
    ['does nothing while the desired routers run', 2, { router: running, 'router-2': running }, {}],
    ['stops surplus routers', 1, { router: running, 'router-2': running, 'router-3': running }, { stop: ['router-2', 'router-3'] }],
    ['stops a router only once', 1, { router: running, 'router-2': stopping }, {}],
    ['waits until a draining router has ended before it starts it again', 2, { router: running, 'router-2': stopping }, {}],
    ['waits until a failed router is due', 2, { router: running, 'router-2': failed(1_500) }, { again: 500 }],
    ['starts a failed router that is due', 2, { router: running, 'router-2': failed(1_000) }, { start: ['router-2'] }],
    ['forgets a failed router that is surplus', 1, { router: running, 'router-2': failed(1_500) }, { forget: ['router-2'] }],
    [
      'looks again when the first of several failed routers is due',
      2,
      { router: failed(9_000), 'router-2': failed(1_200) },
      { again: 200 },
    ],
  ] as const) {
    it(what, () => {
      assert.deepEqual(planSupervisor(routerNames(count), new Map(Object.entries(known)), 1_000), { ...nothing, ...plan });
    });
  }

  for (const [what, count, taken, names] of [
    ['of a site that starts', 2, [], ['router', 'router-2']],
    ['beside draining routers', 2, ['router', 'router-2'], ['router-3', 'router-4']],
    ['beside one draining router', 2, ['router'], ['router-2', 'router-3']],
    ['beside routers that a user named', 2, ['second', 'router-2'], ['router', 'router-3']],
    ['without routers', 0, ['router'], []],
  ] as const) {
    it(`names the routers ${what}`, () => {
      assert.deepEqual(routerNames(count, new Set(taken)), names);
    });
  }

  it('waits longer after each failed start of a router, at most half a minute', () => {
    const waits: number[] = [];
    let failures = 0;
    for (let now = 0; now < 10; now++) {
      const ended = afterEnd({ kind: 'running', since: now, failures }, now, 0);
      assert.ok(ended?.kind === 'failed');
      failures = ended.failures;
      waits.push(ended.retryAt - now);
    }
    assert.deepEqual(waits, [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000, 30_000, 30_000]);
  });

  it('begins to count failures again after a router has run for long', () => {
    assert.deepEqual(afterEnd({ kind: 'running', since: 0, failures: 7 }, 3_600_000, 0), {
      kind: 'failed',
      failures: 1,
      retryAt: 3_601_000,
    });
  });

  it('does not start a router again that it has stopped', () => {
    assert.equal(afterEnd(stopping, 0, 0), undefined);
  });
});
