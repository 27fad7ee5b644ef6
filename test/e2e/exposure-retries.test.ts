import assert from 'node:assert/strict';
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { after, describe, it } from 'node:test';
import type { KubeObject } from '../../src/kube/objects.ts';
import { connectCluster, eventually } from '../harness/index.ts';
import { controllerCount } from './support/earshot.ts';
import { API } from './support/manifests.ts';
import { conditionOf, openNamespace, type Namespace } from './support/namespace.ts';

const PORTS = [{ name: 'http', port: 8080 }];

interface Quota extends KubeObject {
  readonly status?: { readonly used?: object };
}

describe('what the API server refuses', { timeout: 400_000, concurrency: 3 }, () => {
  const cluster = connectCluster();
  after(() => cluster.api.close());

  it('a Service that the API server will not have for now (a quota) is tried again by itself', async () => {
    await using tight = await openNamespace(cluster, 'quota');
    await tight.create({ apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'none' }, spec: { hard: { services: '0' } } });
    await tight.until<Quota>(
      { apiVersion: 'v1', kind: 'ResourceQuota', name: 'none' },
      'to be in force',
      ({ status }) => status?.used !== undefined,
    );
    const className = await tight.class('quota', { serviceType: 'ClusterIP' });
    await tight.listener('limited', { className, ports: PORTS });
    assert.match(
      (await tight.condition('limited', 'Accepted', 'False', 'ServiceRejected')).message,
      /The API server refuses the Service: .*exceeded quota: none/,
    );
    await tight.remove('v1', 'ResourceQuota', 'none');
    await tight.ready('limited');
  });

  it('a Service that the API server refuses is tried again more and more rarely', async () => {
    await using alone = await openNamespace(cluster, 'loop');
    const counted = { queue: 'listeners', outcome: 'error' };
    const className = await alone.class('loop', { serviceType: 'ClusterIP', serviceOverrides: { spec: { sessionAffinity: 'Perhaps' } } });
    const counts = await controllerCount(cluster, 'earshot_reconciles_total', counted);
    await alone.listener('loop', { className, ports: PORTS });
    const times = await untilAttempts(alone, 6);
    const gaps = times.slice(1).map((time, index) => time - (times[index] ?? 0));
    // 100 ms doubled each time, less up to half of it: the fifth is 0.8 s at least, and a busy machine only makes a gap longer.
    const grown = (gaps[4] ?? 0) - Math.min(...gaps.slice(0, 3));
    assert.ok(grown > 400 && (gaps[4] ?? 0) > 500, `the gaps between attempts are ${gaps.join(', ')} ms`);
    // Counted once the attempt has ended, a moment after the API server has written it down.
    await eventually(
      'the metric to count them',
      async () => (await controllerCount(cluster, 'earshot_reconciles_total', counted)) - counts >= 6,
    );
  });

  it('a Listener that is corrected is ready at once, however long it was bad', async () => {
    await using alone = await openNamespace(cluster, 'corrected');
    const className = await alone.exposed('corrected', {
      serviceType: 'ClusterIP',
      serviceOverrides: { spec: { sessionAffinity: 'Perhaps' } },
    });
    // The next one is more than twelve seconds away.
    await untilAttempts(alone, 9);
    await alone.patch(API, 'ListenerClass', className, { spec: { serviceOverrides: { spec: { sessionAffinity: 'ClientIP' } } } });
    await alone.untilListener('corrected', 'to be ready', (listener) => conditionOf(listener, 'Ready')?.status === 'True', 10_000);
  });

  /** When Services of a namespace were written, in milliseconds, by the API server's audit log. */
  function untilAttempts(alone: Namespace, least: number): Promise<readonly number[]> {
    return eventually(
      `${least} attempts to write a Service`,
      async () => {
        const times: number[] = [];
        for await (const line of createInterface({ input: createReadStream(cluster.auditLog) })) {
          if (
            !line.includes(`/namespaces/${alone.name}/services`) ||
            !line.includes('"stage":"ResponseComplete"') ||
            !/"verb":"(create|patch)"/.test(line)
          )
            continue;
          // The audit log's own field (audit.k8s.io/v1 Event).
          const { requestReceivedTimestamp } = JSON.parse(line) as { readonly requestReceivedTimestamp: string };
          times.push(Date.parse(requestReceivedTimestamp));
        }
        return times.length >= least ? times : undefined;
      },
      { timeoutMs: 120_000 },
    );
  }
});
