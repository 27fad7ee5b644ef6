/** The dashboards and alerts of the connection half, on a real Prometheus that scrapes two sites. */
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { run } from '../harness/command.ts';
import { emptyPanels, missingMetrics, preparePrometheus, PROMETHEUS_PORT, PrometheusApi } from '../harness/prometheus.ts';
import {
  connector,
  createAuthority,
  createNetwork,
  eventually,
  issue,
  linkByToken,
  listener,
  manifest,
  startNginx,
  startRequests,
  startSite,
} from './harness/index.ts';

const METRICS_PORT = 9000;
/** Metrics that exist only after a fault of the program. */
const ONLY_AFTER_FAULTS: readonly string[] = ['EarshotInternalError: earshot_internal_errors_total'];

test('alerts fire for the states that they describe, and for no other', async () => {
  for (const half of ['sites', 'exposure']) {
    await run('promtool', ['check', 'rules', path.resolve(import.meta.dirname, `../../deploy/chart/files/alerts/${half}.yaml`)]);
    await run('promtool', ['test', 'rules', path.resolve(import.meta.dirname, `../fixtures/alerts/${half}.yaml`)]);
  }
});

test('every panel shows the traffic and the faults of two sites, and alerts notice the faults', async (t) => {
  await using net = await createNetwork({ hosts: ['west', 'east'], test: t });
  const [client, server] = [net.host('west'), net.host('east')];
  const args = ['--http-port', String(METRICS_PORT)];
  const east = await startSite(server, {
    args,
    resources: [
      manifest('Site', 'east', { linkAccess: 'default', settings: { 'link-certificate-lifetime': '24h' } }),
      connector('web', '127.0.0.1', 80),
      connector('dead', '127.0.0.1', 7100),
      // Prometheus is in the west, and reads the east's metrics through Earshot.
      connector('metrics', '127.0.0.1', METRICS_PORT),
    ],
  });
  const west = await startSite(client, {
    args,
    resources: [
      listener('web', '0.0.0.0', 8080),
      listener('dead', '0.0.0.0', 8081),
      listener('nobody', '0.0.0.0', 8082),
      listener('metrics', '127.0.0.1', 9001),
      listener('tls', '0.0.0.0', 8443, { routingKey: 'web', tlsCredentials: 'tls' }),
    ],
  });
  await west.bundle('tls', await issue(await createAuthority(await client.folder('ca')), 'west', { hosts: ['west'], days: 30 }));
  await startNginx(server, { port: 80 });
  await linkByToken(west, east);
  for (const name of ['web', 'tls', 'metrics']) await west.waitFor('Listener', name);

  const targets = { routers: [`127.0.0.1:${METRICS_PORT}`, '127.0.0.1:9001'] };
  const prometheus = await client.spawn(await preparePrometheus(await client.folder('prometheus'), targets, ['sites']));
  await prometheus.ready(() => client.listens(PROMETHEUS_PORT));
  const api = new PrometheusApi((at) => client.run(['curl', '-sS', `http://127.0.0.1:${PROMETHEUS_PORT}${at}`]));

  await using _pages = await startRequests(client, 'http://127.0.0.1:8080/', { perSecond: 5 });
  await using _failures = await startRequests(client, 'http://127.0.0.1:8081/', { perSecond: 5 });
  await using _plain = await startRequests(client, 'http://127.0.0.1:8443/', { perSecond: 2 });
  await using _uninvited = await startRequests(client, 'https://east:55671/', { perSecond: 2 });
  await using _anonymous = await startRequests(client, 'https://east:45671/', { perSecond: 2 });

  for (const dashboard of ['sites', 'services'])
    await eventually(`dashboard ${dashboard} to be full`, async () => {
      const empty = await emptyPanels(api, dashboard);
      if (empty.length > 0) throw new Error(`empty:\n${empty.join('\n')}`);
      return true;
    });
  assert.deepEqual(await missingMetrics(api, 'sites'), ONLY_AFTER_FAULTS);

  const active = async (): Promise<readonly string[]> =>
    (await api.rules()).filter(({ state }) => state !== 'inactive').map(({ name }) => name);
  const untilActive = (...expected: readonly string[]): Promise<true> =>
    eventually(`alerts ${expected.join(', ')}`, async () => {
      const seen = await active();
      if (!expected.every((name) => seen.includes(name))) throw new Error(`active: ${seen.join(', ')}`);
      return true;
    });
  await untilActive('EarshotCertificateEnds', 'EarshotKeyWithoutConnector', 'EarshotServerSetAside', 'EarshotConnectionsFail');
  assert.deepEqual(
    (await active()).filter((name) => ['EarshotDown', 'EarshotLinkDown'].includes(name)),
    [],
  );
  await east.kill9();
  await untilActive('EarshotDown', 'EarshotLinkDown');
  assert.deepEqual(
    (await api.rules()).filter(({ health }) => health !== 'ok'),
    [],
  );
});
