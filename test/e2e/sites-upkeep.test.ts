/** Two linked sites whose Leases, routers, authority and key are taken from them, while a client goes on asking. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { CONTROLLER_NAME, ROUTER, SITE_KEY, SITE_LEADER, SITE_SERVER } from '../../src/api/skupper/cluster-names.ts';
import type { Link } from '../../src/api/skupper/index.ts';
import { makeRoot } from '../../src/site-controller/trust/issuers.ts';
import type { KubeObject, Secret } from '../../src/kube/objects.ts';
import { eventually } from '../harness/index.ts';
import { processesWhose } from '../harness/proc.ts';
import { auditFromNow, describeRequest, podOf } from './support/audit.ts';
import { loadClient, loadServer, longestOutage } from './support/load.ts';
import { useNamespace } from './support/namespace.ts';
import { secret } from './support/nginx.ts';
import { failures, isReady, linkBoth, routerImage, routers, settled, summary } from './support/routers.ts';
import { SKUPPER, skupper, untilCondition } from './support/sites.ts';

const BACKEND = { host: 'backend', port: 8080, routingKey: 'backend' };
const THIEF = 'thief';
/** New connections go to a router that was killed until Kubernetes knows. */
const OUTAGE_MS = 2_000;

interface Lease extends KubeObject {
  readonly spec: { readonly holderIdentity?: string; readonly renewTime?: string };
}

describe('two linked sites', { timeout: 300_000 }, () => {
  const west = useNamespace('west');
  const east = useNamespace('east');
  const { cluster } = west;

  before(async () => {
    await west.create(skupper('Site', 'west', { linkAccess: 'local', ha: true }), skupper('Listener', 'backend', BACKEND));
    await east.create(
      skupper('Site', 'east'),
      skupper('Connector', 'backend', { selector: 'app=backend', port: 8080, routingKey: 'backend' }),
    );
    await untilCondition(west, 'Site', 'west');
    await untilCondition(east, 'Site', 'east');
    const image = await routerImage(west);
    await east.create(loadServer('backend', image));
    await linkBoth(east, west);
    await untilCondition(west, 'Listener', 'backend');
    await west.create(loadClient('client', image, 'backend'));
    await west.running('client');
    await settled(west, Date.now());
  });

  it('have one leader again each when their Leases are written over, and lose nothing', async (t) => {
    const leases = [await controllersLease(), routersLease()];
    const audit = await auditFromNow(cluster);
    await lossless(t, async () => {
      const renewTime = new Date().toISOString().replace('Z', '000Z');
      for (const lease of leases) await cluster.api.patch(lease, { spec: { holderIdentity: THIEF, renewTime } });
      await west.create(skupper('Listener', 'meanwhile', { ...BACKEND, host: 'meanwhile' }));
      await untilCondition(west, 'Listener', 'meanwhile');
    });
    await Promise.all(leases.map(untilHeld));
    await audit.settle();
    const changes = audit.changes(west.name);
    // Who led may write until it looks at its Lease again, and not once another has begun.
    for (const who of [CONTROLLER_NAME, ROUTER]) {
      const writers = changes.map((change) => podOf(change) ?? '').filter((pod) => pod.startsWith(`${who}-`));
      const turns = writers.filter((pod, index) => pod !== writers[index - 1]);
      assert.equal(turns.length, new Set(turns).size, turns.join(', '));
    }
    const served = changes.map(describeRequest).filter((each) => each.startsWith(`create services ${west.name}/meanwhile`));
    assert.equal(served.length, 1);
  });

  it('have a leading router soon when the one that led is killed', async (t) => {
    const leader = await untilHeld(routersLease());
    const since = Date.now();
    const [pid = assert.fail(`nothing runs in ${leader}`)] = processesWhose('environ', (text) =>
      text.split('\0').includes(`HOSTNAME=${leader}`),
    );
    process.kill(pid, 'SIGKILL');
    await eventually(
      'a leading router',
      async () => Date.parse((await cluster.api.get<Lease>(routersLease())).spec.renewTime ?? '') > since + 3_000,
    );
    await west.remove(SKUPPER, 'Listener', 'meanwhile');
    await west.create(skupper('Listener', 'later', { ...BACKEND, host: 'later' }));
    await untilCondition(west, 'Listener', 'later');
    await untilRouters();
    const requests = await settled(west, since);
    t.diagnostic(summary(requests));
    const outage = longestOutage(requests.filter(({ way }) => way === 'new'));
    assert.ok(outage <= OUTAGE_MS, `no new connection for ${outage} ms`);
  });

  it('take another authority and are linked again, and lose nothing', async (t) => {
    const { cert = '', key = '' } = makeRoot('own', 'Own', 365, Date.now());
    const base64 = (text: string): string => Buffer.from(text).toString('base64');
    const shown = await serverCertificate();
    await lossless(t, async () => {
      await west.create(secret('own', { 'tls.crt': base64(cert), 'tls.key': base64(key) }));
      await west.patch(SKUPPER, 'Site', 'west', { spec: { defaultIssuer: 'own' } });
      await eventually('another certificate', async () => (await serverCertificate()) !== shown);
      await linkBoth(east, west, 'again');
      for (const link of ['token-1', 'token-2']) await east.remove(SKUPPER, 'Link', link);
      await eventually('the links of old to be gone', async () => (await east.get(SKUPPER, 'Link', 'token-1')) === undefined);
    });
  });

  it('have the links to a site whose key was deleted back by themselves, under its new id', async () => {
    const idOf = async (): Promise<string | undefined> => (await east.get<Link>(SKUPPER, 'Link', 'again-1'))?.status?.remoteSiteId;
    const former = await idOf();
    const { metadata } = (await west.get<Secret>('v1', 'Secret', SITE_KEY)) ?? assert.fail('the site has no key');
    await west.remove('v1', 'Secret', SITE_KEY);
    await west.until<KubeObject & { readonly status?: { readonly message?: string } }>(
      { apiVersion: SKUPPER, kind: 'Site', name: 'west' },
      'misses its key',
      ({ status }) => status?.message?.includes(SITE_KEY) === true,
    );
    await west.remove('v1', 'ConfigMap', ROUTER);
    await west.until<Secret>(
      { apiVersion: 'v1', kind: 'Secret', name: SITE_KEY },
      'is another',
      (now) => now.metadata.uid !== metadata.uid,
    );
    const gone = await routers(west);
    for (const pod of gone) await west.remove('v1', 'Pod', pod.metadata.name ?? '');
    await untilRouters();
    await eventually('links to the new site', async () => (await idOf()) !== former);
    for (const link of ['again-1', 'again-2']) await untilCondition(east, 'Link', link);
    await untilCondition(west, 'Listener', 'backend');
  });

  it('come to rest', async (t) => {
    const changes = await eventually('nothing to be written', async () => {
      const audit = await auditFromNow(cluster);
      await lossless(t, () => Promise.resolve());
      await audit.settle();
      const seen = [west, east].flatMap(({ name }) => audit.changes(name)).map(describeRequest);
      if (seen.length > 0) throw new Error(seen.join('; '));
      return seen;
    });
    assert.deepEqual(changes, []);
  });

  async function lossless(t: { diagnostic(message: string): void }, work: () => Promise<void>): Promise<void> {
    const since = Date.now();
    await work();
    const requests = await settled(west, since);
    t.diagnostic(summary(requests));
    assert.deepEqual(failures(requests), []);
  }

  async function controllersLease(): Promise<string> {
    const path = `/apis/apps/v1/deployments?labelSelector=${encodeURIComponent('application=skupper-controller')}`;
    const { items } = await cluster.api.get<{ readonly items: readonly KubeObject[] }>(path);
    return `/apis/coordination.k8s.io/v1/namespaces/${items[0]?.metadata.namespace}/leases/${CONTROLLER_NAME}`;
  }

  function routersLease(): string {
    return `/apis/coordination.k8s.io/v1/namespaces/${west.name}/leases/${SITE_LEADER}`;
  }

  function untilHeld(lease: string): Promise<string> {
    return eventually(`a holder of ${lease}`, async () => {
      const { holderIdentity = '' } = (await cluster.api.get<Lease>(lease)).spec;
      return holderIdentity !== THIEF && holderIdentity;
    });
  }

  async function untilRouters(): Promise<void> {
    await eventually('two routers', async () => {
      const pods = await routers(west);
      return pods.length === 2 && pods.every(isReady);
    });
  }

  async function serverCertificate(): Promise<string | undefined> {
    return (await west.get<Secret>('v1', 'Secret', SITE_SERVER))?.data?.['tls.crt'];
  }
});
