/** One Listener after the other, at a site with a link that is up. */
import { setTimeout as sleep } from 'node:timers/promises';
import { services } from '../../../src/kube/resource.ts';
import { expect } from '../../cluster/expectation.ts';
import { patience } from '../../cluster/load.ts';
import type { Bench } from '../bench.ts';
import { answeredAt, openServed, PORT, ROUTING_KEY, uptime } from '../client.ts';
import { closePlaces, create, expectCondition } from '../places.ts';

/** Milliseconds until a program in a pod has begun. */
const BEGIN = 700;

export async function measureListener(bench: Bench): Promise<void> {
  const { sizes, record, log } = bench;
  const { west, east } = await openServed(bench, 'listener');
  // Whatever is done only once is done before.
  await using ready = await expectCondition(bench, west, 'Listener', 1);
  await create(bench, west, 'Listener', 'first', { host: 'first', port: PORT, routingKey: ROUTING_KEY });
  await ready.reached;
  await answeredAt(bench, west, 'first');
  for (let index = 0; index < sizes.changes; index++) {
    const name = `one-${index}`;
    await using service = await expect(bench, services, {
      namespace: west,
      what: `Services ${name}`,
      count: 1,
      isThere: ({ metadata }) => metadata.name === name,
      timeoutMs: patience(1),
    });
    const answered = answeredAt(bench, west, name);
    await sleep(BEGIN);
    const [start, begun] = [performance.now(), uptime()];
    await create(bench, west, 'Listener', name, { host: name, port: PORT, routingKey: ROUTING_KEY });
    const seconds = { service: ((await service.reached) - start) / 1_000, answer: (await answered) - begun };
    record('service', seconds.service);
    record('answer', seconds.answer);
    log(`Listener ${index + 1}: its Service after ${seconds.service.toFixed(3)} s, an answer after ${seconds.answer.toFixed(2)} s`);
  }
  await closePlaces(bench, [west, east]);
}
