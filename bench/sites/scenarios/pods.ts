/** A pod that a Connector's selector begins and ceases to select, as a client over a link notices. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeObject } from '../../../src/kube/objects.ts';
import { resource } from '../../../src/kube/resource.ts';
import type { Bench } from '../bench.ts';
import { answeredAt, answersFor, openServed, PORT, ROUTING_KEY, SELECTED, uptime } from '../client.ts';
import { closePlaces, create, expectCondition } from '../places.ts';

const pods = resource<KubeObject>('v1', 'Pod', 'pods');

/** Milliseconds until a program in a pod has begun. */
const BEGIN = 700;
/** Seconds that are looked at after a pod has ceased to be selected, and before. */
const LOOK = 4;

export async function measurePods(bench: Bench): Promise<void> {
  const { client, sizes, record, tell, log } = bench;
  const { west, east } = await openServed(bench, 'pods');
  await using ready = await expectCondition(bench, west, 'Listener', 1);
  await create(bench, west, 'Listener', 'web', { host: 'web', port: PORT, routingKey: ROUTING_KEY });
  await ready.reached;
  const select = (app: string | null): Promise<unknown> =>
    client.patch(pods, { namespace: east, name: 'other' }, { metadata: { labels: { app } } }, { type: 'merge' });
  let failures = 0;
  for (let change = 1; change <= sizes.changes; change++) {
    const answered = answeredAt(bench, west, 'web', 'other');
    await sleep(BEGIN);
    const begun = uptime();
    await select(SELECTED.app);
    const [came, asked] = [(await answered) - begun, answersFor(bench, west, 'web', LOOK)];
    await sleep(BEGIN);
    const ended = uptime();
    await select(null);
    const heard = await asked;
    failures += heard.failures;
    const last = heard.answers.findLast(({ by }) => by === 'other')?.at ?? ended;
    const went = Math.max(0, last - ended);
    record('pod-new', came);
    record('pod-gone', went);
    log(`change ${change}: the pod answers after ${came.toFixed(2)} s, and for the last time ${went.toFixed(2)} s after its label went`);
  }
  if (failures > 0) tell(`while the pod came and went, ${failures} requests failed`);
  await closePlaces(bench, [west, east]);
}
