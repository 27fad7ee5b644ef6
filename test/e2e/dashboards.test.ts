/** The dashboard and alerts of the exposure half, on a real Prometheus that scrapes the controllers and node drivers. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, it } from 'node:test';
import { request } from 'undici';
import { eventually } from '../harness/index.ts';
import { emptyPanels, missingMetrics, preparePrometheus, PROMETHEUS_PORT, PrometheusApi } from '../harness/prometheus.ts';
import { environment, Program } from '../harness/program.ts';
import { systemPods } from './support/installation.ts';
import { API, byListener, claim, pod } from './support/manifests.ts';
import { useNamespace } from './support/namespace.ts';

describe('the dashboard of the exposure half', { timeout: 300_000 }, () => {
  const namespace = useNamespace('dashboards');
  const { cluster } = namespace;

  it('shows what waits and what fails in a cluster, and alerts notice it', async () => {
    await namespace.exposed('works', { serviceType: 'ClusterIP' });
    // Nothing assigns an address of this class.
    await namespace.exposed('late', { serviceType: 'LoadBalancer', loadBalancerClass: 'stand-in.example/none' });
    await namespace.exposed('rejected', { serviceType: 'ClusterIP', serviceOverrides: { spec: { sessionAffinity: 'Never' } } });
    for (const name of ['works', 'late']) await namespace.create(claim(name, byListener(name)), pod(name, { volumes: { listener: name } }));
    await namespace.running('works');

    const folder = await mkdtemp(path.join(tmpdir(), 'earshot-prometheus-'));
    try {
      const addressesOf = async (component: 'controller' | 'node', port: number): Promise<readonly string[]> =>
        (await systemPods(cluster, component)).map(({ status }) => `${status.podIP}:${port}`);
      const targets = { controller: await addressesOf('controller', 8080), node: await addressesOf('node', 8081) };
      const command = await preparePrometheus(folder, targets, ['exposure']);
      await using prometheus = await Program.start('prometheus', command, { env: environment(), log: path.join(folder, 'log') });
      const get = async (at: string): Promise<string> => (await request(`http://127.0.0.1:${PROMETHEUS_PORT}${at}`)).body.text();
      await prometheus.ready(async () => (await get('/-/ready')).includes('Ready'));
      const api = new PrometheusApi(get);

      let changes = 0;
      await eventually(
        'the dashboard to be full',
        async () => {
          // Durations have values only while something is reconciled.
          await namespace.patch(API, 'Listener', 'works', { metadata: { labels: { changes: String((changes += 1)) } } });
          const empty = await emptyPanels(api, 'exposure');
          if (empty.length > 0) throw new Error(`empty:\n${empty.join('\n')}`);
          return true;
        },
        { everyMs: 1_000, timeoutMs: 120_000 },
      );
      assert.deepEqual(await missingMetrics(api, 'exposure'), []);
      await eventually('alerts about the Listeners and the mount that wait', async () => {
        const active = (await api.rules()).filter(({ state }) => state !== 'inactive').map(({ name }) => name);
        if (!['EarshotListenersNotReady', 'EarshotMountsWaiting'].every((name) => active.includes(name)))
          throw new Error(`active: ${active.join(', ')}`);
        return true;
      });
      assert.deepEqual(
        (await api.rules()).filter(({ health, state, name }) => health !== 'ok' || (state !== 'inactive' && /Down|Leader/.test(name))),
        [],
      );
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
