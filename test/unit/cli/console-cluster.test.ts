/** Sources of the console for a site in a cluster, for users with all rights, with some, and without any. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { clusterSources } from '../../../src/cli/actions/console-cluster.ts';
import { readConsoleRights } from '../../../src/cli/actions/console-rights.ts';
import type { OpenSources } from '../../../src/cli/actions/console-sources.ts';
import { openCluster } from '../../../src/cli/resources.ts';
import { History } from '../../../src/console/history.ts';
import { readObserved } from '../../../src/console/observed-site.ts';
import { Watcher } from '../../../src/console/watcher.ts';
import { clusterOf } from '../explain/support-cluster.ts';
import { metricsOf } from '../console/memory-sources.ts';
import { Cluster, condition, ready } from './cluster.ts';
import { limitRights, REVIEWS, startRouterPods, storeIdentity } from './router-pods.ts';

const EAST = '11111111-1111-4111-8111-111111111111';

async function siteInCluster(isForbidden: (right: string) => boolean = () => false): Promise<Cluster> {
  const cluster = await Cluster.start();
  limitRights(cluster, isForbidden);
  cluster.answerOfPod = () => metricsOf(7, 0);
  const network = [
    {
      id: 'w',
      name: 'west',
      namespace: 'west',
      links: [{ name: 'east', remoteSiteId: 'e' }],
      services: [{ routingKey: 'web', listeners: ['web'] }],
    },
    { id: 'e', name: 'east', namespace: 'east', services: [{ routingKey: 'web', connectors: ['web'] }] },
  ];
  cluster.store('sites/west', { metadata: {}, status: ready({ network }) });
  cluster.store('links/east', {
    metadata: {},
    spec: { endpoints: [], cost: 3 },
    status: ready({ conditions: [condition('Operational')] }),
  });
  cluster.store('listeners/web', { metadata: {}, spec: { routingKey: 'web', host: 'web', port: 80 }, status: ready() });
  cluster.store('pods/router-1', { metadata: {}, status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } });
  return cluster;
}

async function open(cluster: Cluster): Promise<OpenSources> {
  return clusterSources(await openCluster({ kubeconfig: cluster.kubeconfig }, 2_000), new AbortController().signal);
}

async function read({ sources }: OpenSources): Promise<Watcher> {
  const place = { where: sources.resources.where, namespace: 'west', isMachine: false, version: '1' };
  const watcher = new Watcher(sources, { place, history: new History(2 ** 24) });
  await watcher.read();
  return watcher;
}

describe('sources of the console in a cluster', () => {
  it('need no right to Sites if the cluster does not have the kind', async () => {
    const reach = { needs: { metrics: [], api: [] } };
    const rightsWith = async (undefinedKinds: readonly string[]) =>
      readConsoleRights(clusterOf({ objects: {}, denied: ['sites'], undefinedKinds }), 'shop', reach, []);
    assert.deepEqual((await rightsWith(['sites'])).refused, []);
    assert.deepEqual((await rightsWith([])).refused, ['Site']);
  });

  it('have the site, its links and keys from statuses, and figures from the routers', async () => {
    await using cluster = await siteInCluster();
    await using sources = await open(cluster);
    const watcher = await read(sources);
    const { site, sites, links, keys, routers, totals } = watcher.overview();
    assert.deepEqual([site?.name, sites, links, keys.total], ['west', 2, { up: 1, down: 0 }, 1]);
    assert.deepEqual([routers.map(({ name, ready: isUp }) => [name, isUp]), totals.open], [[['router-1', true]], 3]);
    assert.deepEqual(watcher.problems, []);
  });

  it('follow changes without further lists', async () => {
    await using cluster = await siteInCluster();
    await using sources = await open(cluster);
    const watcher = await read(sources);
    const before = cluster.requests.length;
    await watcher.read();
    assert.deepEqual(
      cluster.requests.slice(before).map(({ what }) => what),
      [],
    );
  });

  it('write nothing', async () => {
    await using cluster = await siteInCluster();
    await using sources = await open(cluster);
    await read(sources);
    await sources.sources.explain?.('Listener', 'web', false);
    assert.deepEqual(
      cluster.requests.filter(({ method, what }) => method !== 'GET' && what !== REVIEWS),
      [],
    );
  });

  it('explain an object of the connection half, and say if it does not exist', async () => {
    await using cluster = await siteInCluster();
    await using sources = await open(cluster);
    assert.equal((await sources.sources.explain?.('Listener', 'web', false))?.object, 'Listener/web');
    assert.equal(await sources.sources.explain?.('Listener', 'other', false), undefined);
  });

  it('have what is exposed in the namespace, and revocations', async () => {
    await using cluster = await siteInCluster();
    await using sources = await open(cluster);
    const watcher = await read(sources);
    await watcher.readExposure();
    await watcher.read();
    const { exposure, problems } = watcher.overview();
    // The stand-in for the API server has one collection for the Listeners of both halves.
    assert.deepEqual([exposure?.listeners, exposure?.pods], [1, 0]);
    assert.deepEqual(
      problems.map(({ object }) => object),
      ['listeners.listeners.stackable.tech/web'],
    );
    const explanation = await sources.sources.explain?.('listeners.listeners.stackable.tech', 'web', false);
    assert.equal(explanation?.cause?.code, 'listener-pending');
    assert.deepEqual(await sources.sources.resources.revoked?.(), []);
  });

  it('show what is exposed in a cluster without the connection half', async () => {
    await using cluster = await Cluster.start();
    cluster.store('listeners/web', { metadata: {}, spec: { className: 'public' } });
    const connection = /^(?:sites|links|connectors|certificates|access\w+|routeraccesses|securedaccesses|multikeylisteners|attached\w+)$/;
    cluster.refuse = ({ what }) => {
      if (what === REVIEWS) return { code: 201, metadata: {}, status: { allowed: true } };
      return connection.test(what) ? { code: 404, message: '404 page not found' } : undefined;
    };
    await using sources = await open(cluster);
    const watcher = await read(sources);
    await watcher.readExposure();
    await watcher.read();
    const { exposure, partial, problems } = watcher.overview();
    assert.deepEqual([exposure?.listeners, partial], [1, []]);
    assert.deepEqual(
      problems.map(({ object }) => object),
      ['listeners.listeners.stackable.tech/web'],
    );
  });

  const rights: readonly (readonly [forbidden: RegExp, says: RegExp])[] = [
    [/^get pods\/proxy$/, /^Figures are not shown: your user may not get pods\/proxy in the namespace west\.$/],
    [/^list accessgrants$/, /^Some resources are not shown: your user may not list and watch accessgrants\.skupper\.io in/],
    [/^watch pods$/, /^Routers and figures are not shown: your user may not list and watch pods in the namespace west\.$/],
  ];
  for (const [forbidden, says] of rights) {
    it(`name the missing right ${forbidden.source}, and show the rest`, async () => {
      await using cluster = await siteInCluster((right) => forbidden.test(right));
      await using sources = await open(cluster);
      const watcher = await read(sources);
      const { partial, site } = watcher.overview();
      assert.equal(site?.status, 'Ready');
      assert.ok(
        partial.some(({ router, why }) => router === '' && says.test(why)),
        JSON.stringify(partial),
      );
      assert.deepEqual(watcher.problems, []);
    });
  }

  it('have figures that another site shares, from a router that asks it', async () => {
    await using cluster = await siteInCluster();
    storeIdentity(cluster, 'reader', 'api');
    const figures = { version: '1', uptime: 1_000, open: 7, opened: 0, failed: 0, up: 0, down: 0, links: [] };
    const asked: string[] = [];
    await using _pods = await startRouterPods(cluster, {
      'router-1': {
        observe: (site) => {
          asked.push(site);
          return Promise.resolve([{ router: 'r', figures }]);
        },
      },
    });
    await using sources = await open(cluster);
    const answer = await sources.sources.observe?.('router-1', EAST);
    assert.deepEqual([asked, readObserved(answer)[0]], [[EAST], { router: 'r', figures }]);
  });

  it('say which right figures of other sites need', async () => {
    await using cluster = await siteInCluster((right) => right === 'create pods/portforward');
    await using sources = await open(cluster);
    await assert.rejects(async () => sources.sources.observe?.('router-1', EAST), {
      message: 'Figures of other sites are not shown: your user may not get and create pods/portforward in the namespace west.',
    });
  });

  it('cannot be opened without the right to read Sites', async () => {
    await using cluster = await siteInCluster((right) => right === 'list sites');
    await assert.rejects(open(cluster), /your user may not list and watch sites\.skupper\.io in the namespace west; ask an administrator/);
  });

  it('of an empty namespace advise to create a site', async () => {
    await using cluster = await Cluster.start();
    cluster.refuse = (asked) => (asked.what === REVIEWS ? { code: 201, metadata: {}, status: { allowed: true } } : undefined);
    await using sources = await open(cluster);
    const [problem] = (await read(sources)).problems;
    assert.deepEqual([problem?.kind, problem?.status], ['Site', 'missing']);
  });
});
