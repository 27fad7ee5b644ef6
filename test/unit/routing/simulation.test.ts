import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventQueue } from '../../../bench/routing/event-queue.ts';
import { Random } from '../../../bench/routing/random.ts';
import { Simulation } from '../../../bench/routing/simulation.ts';
import { makeTopology } from '../../../bench/routing/topology.ts';

test('events come by time, and at one time in their order', () => {
  const queue = new EventQueue<number>();
  const random = new Random(4);
  const times = Array.from({ length: 500 }, () => random.below(50));
  for (const [order, time] of times.entries()) queue.push(time, order);
  assert.equal(queue.pop(-1), undefined);
  const popped: { time: number; event: number }[] = [];
  for (let next = queue.pop(100); next !== undefined; next = queue.pop(100)) popped.push({ time: next.time, event: next.event });
  const expected = times.map((time, event) => ({ time, event })).sort((left, right) => left.time - right.time || left.event - right.event);
  assert.deepEqual(popped, expected);
});

test('a network of either shape starts, and each site finds the keys of each', () => {
  for (const shape of ['tiers', 'geometric'] as const) {
    const topology = makeTopology(shape, 12, 1);
    const simulation = new Simulation(topology, (site) => [{ routingKey: `key-${site}`, connectors: 1, listeners: 0 }]);
    for (const link of topology.links) simulation.up(link, 10);
    simulation.run(10_000);
    for (let site = 0; site < 12; site += 1) {
      const router = simulation.router(site);
      assert.equal(router.network().length, 12);
      for (let other = 0; other < 12; other += 1) assert.equal(router.destinations(`key-${other}`)[0]?.router, simulation.routerId(other));
    }
    const { messages, converged } = simulation.count();
    assert.ok(messages > 0 && converged > 0 && converged < 10_000);
  }
});
