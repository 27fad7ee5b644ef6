/** The connection half alone, as docs/install.md installs it: upgraded, taken away and brought back while clients of sites go on asking. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { chartArchive } from '../../scripts/dist/chart-archive.ts';
import type { KubeObject } from '../../src/kube/objects.ts';
import { run } from '../harness/command.ts';
import { eventually, startCluster, stopCluster, type Cluster } from '../harness/index.ts';
import { buildImages } from '../harness/install.ts';
import { helm } from '../harness/chart.ts';
import { loadClient, loadServer } from './support/load.ts';
import { Namespace } from './support/namespace.ts';
import { failures, isReady, linkBoth, routerImage, routers, settled, summary, type RouterPod } from './support/routers.ts';
import { SKUPPER, skupper, untilCondition } from './support/sites.ts';

const NAME = 'sites-upgrade';
const SYSTEM = 'skupper';
const LATER = 'later';
const BACKEND = { host: 'backend', port: 8080, routingKey: 'backend' };
const ACCOUNT = `--as=system:serviceaccount:${SYSTEM}:skupper-controller`;
/** What a namespace may hold of a site, but for what people write. */
const MADE =
  'secrets,configmaps,services,serviceaccounts,roles,rolebindings,deployments,pods,leases,endpointslices,' +
  'certificates.skupper.io,routeraccesses.skupper.io,securedaccesses.skupper.io';

describe('sites of the chart’s connection half', { timeout: 480_000 }, () => {
  let cluster: Cluster;
  let folder = '';
  /** The chart as a release has it. */
  let archive = '';
  let installSeconds = 0;
  let west: Namespace;
  let east: Namespace;
  let lone: Namespace;
  const all = (): readonly Namespace[] => [west, east, lone];
  const chart = (args: readonly string[], values?: object): Promise<string> =>
    helm([...args, '--namespace', SYSTEM, '--kubeconfig', cluster.kubeconfig, '--wait', '--timeout', '90s'], values);
  const install = (values: object = {}): Promise<string> =>
    chart(['install', 'skupper', archive, '--create-namespace'], {
      exposure: { enabled: false },
      connection: { enabled: true, defaultAccessType: 'local' },
      ...values,
    });
  const mayReadSecrets = (): Promise<boolean> =>
    cluster.kubectl(['auth', 'can-i', 'list', 'secrets', '--all-namespaces', ACCOUNT]).then(
      () => true,
      () => false,
    );

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'earshot-chart-'));
    archive = path.join(folder, 'earshot-chart.tgz');
    await writeFile(archive, await chartArchive());
    await stopCluster(NAME);
    cluster = await startCluster({ name: NAME });
    for (const image of await buildImages()) await cluster.loadImage(image);
    const begin = performance.now();
    await install();
    installSeconds = (performance.now() - begin) / 1000;
    west = new Namespace(cluster, 'west');
    east = new Namespace(cluster, 'east');
    lone = new Namespace(cluster, 'lone');
    for (const namespace of all()) await namespace.open();
    await west.create(skupper('Site', 'west', { linkAccess: 'local', ha: true }), skupper('Listener', 'backend', BACKEND));
    await east.create(
      skupper('Site', 'east', { ha: true }),
      skupper('Connector', 'backend', { selector: 'app=backend', port: 8080, routingKey: 'backend' }),
    );
    await lone.create(skupper('Site', 'lone'), skupper('Listener', 'backend', BACKEND));
    for (const namespace of all()) await untilCondition(namespace, 'Site', namespace.name);
    const image = await routerImage(west);
    await east.create(loadServer('backend', image));
    await linkBoth(east, west);
    await linkBoth(lone, west, 'lone');
    for (const namespace of [west, lone]) {
      await untilCondition(namespace, 'Listener', 'backend');
      await namespace.create(loadClient('client', image, 'backend'));
      await namespace.running('client');
      await settled(namespace, Date.now());
    }
  });
  after(async () => {
    await cluster[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  it('lose nothing by an upgrade that replaces controllers and routers, nor by a rollback, even with one router only', async (t) => {
    // Helm's own timeout is the limit.
    t.diagnostic(`${installSeconds.toFixed(1)} s from helm install to Ready`);
    const image = await routerImage(west);
    const upgraded = `${image.slice(0, image.lastIndexOf(':'))}:${LATER}`;
    await tagImage(cluster, image, upgraded);
    await lossless(t, async () => {
      await chart(['upgrade', 'skupper', archive, '--reset-then-reuse-values', '--set', `image.tag=${LATER}`]);
      await untilRoutersHave(upgraded);
    });
    await lossless(t, async () => {
      await chart(['rollback', 'skupper', '1']);
      await untilRoutersHave(image);
    });
  });

  it('keep running when the chart is uninstalled, and nothing of them is rewritten when it is installed again', async (t) => {
    const [earlier, pods] = [await versions(), await uids()];
    await lossless(t, async () => {
      await chart(['uninstall', 'skupper']);
      await eventually('the controllers to be gone', async () => {
        const left = await cluster.kubectl(['get', 'deployments,pods,serviceaccounts,roles', '--namespace', SYSTEM, '--output=name']);
        assert.equal(left.trim(), 'serviceaccount/default');
        return true;
      });
      assert.equal(await mayReadSecrets(), false);
      for (const namespace of all()) assert.notEqual(await namespace.get(SKUPPER, 'Site', namespace.name), undefined);
    });
    await lossless(t, async () => {
      await install();
      await west.create(skupper('Listener', 'more', { ...BACKEND, host: 'more' }));
      await west.untilService('more', 'is there', () => true);
    });
    assert.deepEqual(await uids(), pods);
    assert.deepEqual(await versions(), earlier);
  });

  it('leave nothing in a namespace whose Site is deleted but what people wrote', async (t) => {
    await lossless(t, async () => {
      await lone.remove('v1', 'Pod', 'client');
      await lone.remove(SKUPPER, 'Site', 'lone');
      await eventually('nothing of the site to be left', async () => {
        const left = (await cluster.kubectl(['get', MADE, '--namespace', lone.name, '--output=name'])).trim().split('\n');
        assert.deepEqual(left, ['configmap/kube-root-ca.crt', 'serviceaccount/default']);
        return true;
      });
    }, [west]);
  });

  async function untilRoutersHave(image: string): Promise<void> {
    for (const namespace of all()) {
      await eventually(`the routers of ${namespace.name} to have the image ${image}`, async () => {
        const pods = await routers(namespace);
        return pods.length === (namespace === lone ? 1 : 2) && pods.every((pod) => isReady(pod) && imageOf(pod) === image);
      });
    }
    for (const namespace of all()) {
      await eventually(`no other router of ${namespace.name} to be left`, async () => {
        const args = ['get', 'pods', '--namespace', namespace.name, '--selector=skupper.io/type=site', `--output=jsonpath=${IMAGES}`];
        return (await cluster.kubectl(args))
          .trim()
          .split(' ')
          .every((one) => one === image);
      });
    }
  }

  async function lossless(t: { diagnostic(message: string): void }, work: () => Promise<void>, clients = [west, lone]): Promise<void> {
    const since = Date.now();
    await work();
    for (const client of clients) {
      const requests = await settled(client, since);
      t.diagnostic(`${client.name}: ${summary(requests)}`);
      // It may be gone before a person can inspect it.
      if (failures(requests).length > 0)
        t.diagnostic(await cluster.kubectl(['get', 'events,endpointslices,pods', '--namespace', client.name, '--output=yaml']));
      assert.deepEqual(failures(requests), [], client.name);
    }
  }

  /** Keys, certificates, records and rights, as they were written last. */
  async function versions(): Promise<readonly string[]> {
    const kinds = 'secrets,serviceaccounts,roles.rbac.authorization.k8s.io,services,certificates.skupper.io';
    const { items } = JSON.parse(await cluster.kubectl(['get', kinds, '--all-namespaces', '--output=json'])) as {
      readonly items: readonly KubeObject[];
    };
    return items
      .filter(({ metadata }) => all().some(({ name }) => name === metadata.namespace) && metadata.name !== 'more')
      .map(({ kind, metadata }) => `${kind} ${metadata.namespace}/${metadata.name} ${metadata.resourceVersion}`);
  }

  async function uids(): Promise<readonly unknown[]> {
    return (await Promise.all(all().map((namespace) => routers(namespace)))).flat().map(({ metadata }) => metadata.uid);
  }
});

const IMAGES = '{.items[*].spec.containers[0].image}';

const imageOf = ({ spec }: RouterPod): string | undefined => (spec.containers as readonly { readonly image?: string }[])[0]?.image;

/** The same image by another name, as a later version would be to the cluster. */
async function tagImage({ nodes }: Cluster, image: string, name: string): Promise<void> {
  for (const { containerdSocket } of nodes)
    await run('ctr', ['--address', containerdSocket, '--namespace', 'k8s.io', 'images', 'tag', '--force', image, name]);
}
