import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { before, describe, it } from 'node:test';
import type { AccessGrant, Site } from '../../src/api/skupper/index.ts';
import type { Secret } from '../../src/kube/objects.ts';
import { run } from '../harness/command.ts';
import { eventually } from '../harness/index.ts';
import { environment } from '../harness/program.ts';
import { untar } from '../unit/cli/untar.ts';
import { useNamespace } from './support/namespace.ts';
import { client, fetched, linkByToken, SKUPPER, skupper, untilCondition, webDeployment } from './support/sites.ts';

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));

describe('two sites in namespaces of a cluster', { timeout: 300_000 }, () => {
  const west = useNamespace('west');
  const east = useNamespace('east');

  before(async () => {
    await west.create(
      skupper('Site', 'west', { linkAccess: 'local' }),
      skupper('Listener', 'backend', { host: 'backend', port: 8080, routingKey: 'e2e-backend' }),
    );
    await east.create(
      skupper('Site', 'east'),
      skupper('Connector', 'backend', { selector: 'app=backend', port: 8080, routingKey: 'e2e-backend' }),
      webDeployment('backend', 3),
    );
    await west.create(await client('client', west.cluster));
  });

  it('have a Service for each Listener before any link is there', async () => {
    const { spec, metadata } = await west.untilService('backend', 'is there', () => true);
    assert.deepEqual(spec?.selector, { application: 'skupper-router', 'skupper.io/component': 'router' });
    assert.deepEqual(
      spec?.ports?.map(({ name, port }) => [name, port]),
      [['backend', 8080]],
    );
    assert.equal(metadata.annotations?.['internal.skupper.io/controlled'], 'true');
  });

  it('become ready', async () => {
    for (const [namespace, name] of [
      [west, 'west'],
      [east, 'east'],
    ] as const) {
      await untilCondition(namespace, 'Site', name);
    }
  });

  it('are linked by a token, and a client of one reaches the pods of the other', async () => {
    await linkByToken(east, west, 'to-west');
    await untilCondition(west, 'Listener', 'backend');
    await untilCondition(east, 'Connector', 'backend');
    await west.running('client');
    assert.match(await fetched(west, 'client', 'http://backend:8080/'), /^backend-/);
    await west.until<Site>(
      { apiVersion: SKUPPER, kind: 'Site', name: 'west' },
      'sees both sites',
      ({ status }) => status?.sitesInNetwork === 2,
    );
  });

  it('have a debug dump with the view of each router, as far as the rights allow', async () => {
    const { cluster } = west;
    const metrics = /^routers\/skupper-router-[^/]+\/metrics\.txt$/;

    const all = await dumpOf(cluster.kubeconfig);
    assert.match(all(metrics), /^earshot_router_links\{direction="incoming"\} 1$/m);
    assert.match(all(metrics), new RegExp(`^earshot_router_site_info\\{.*name="east"`, 'm'));
    assert.match(all(/^routers\/[^/]+\/readyz\.txt$/), /^ok$/m);
    assert.match(all(/^logs\/skupper-router-/), /"message":"running"/);
    assert.match(all(/^certificates\.yaml$/), /secret: skupper-site-server\n/);
    assert.match(all(/^objects\/EndpointSlice\.yaml$/), /kubernetes\.io\/service-name: backend\n/);
    assert.match(all(/^objects\/Lease\.yaml$/), /name: skupper-site-leader\n/);
    assert.match(all(/^controller\/Lease\.yaml$/), /holderIdentity: /);

    const everything = all(/./);
    const grant = await west.get<AccessGrant>(SKUPPER, 'AccessGrant', 'to-west');
    const { data = {} } = (await west.get<Secret>('v1', 'Secret', 'skupper-site-server')) ?? {};
    for (const secret of [grant?.status?.code, data['tls.key']]) {
      assert.ok(secret !== undefined && secret.length > 8);
      assert.ok(!everything.includes(secret));
    }
    assert.doesNotMatch(everything, /PRIVATE KEY/);

    for (const [role, expected] of [
      ['edit', /^earshot_router_links\{direction="incoming"\} 1$/m],
      ['view', /^could not be read: .*cannot get resource "pods\/proxy"/],
    ] as const) {
      const some = await dumpOf(await kubeconfigOf(role));
      assert.match(some(metrics), expected, role);
      assert.match(some(/^logs\/skupper-router-/), /"message":"running"/);
    }
  });

  it('leave nothing behind when they are deleted', async () => {
    await west.remove(SKUPPER, 'Site', 'west');
    await eventually('the Service to be gone', async () => (await west.get('v1', 'Service', 'backend')) === undefined);
  });

  /** A kubeconfig of an account with that role of Kubernetes in the namespace of west. */
  async function kubeconfigOf(role: string): Promise<string> {
    const { cluster, name: namespace } = west;
    await west.create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: role } });
    await cluster.api.create(`/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/rolebindings`, {
      metadata: { name: role },
      subjects: [{ kind: 'ServiceAccount', name: role, namespace }],
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
    });
    const { ca } = cluster.state.credentials;
    const server = { server: cluster.apiUrl, 'certificate-authority-data': Buffer.from(ca).toString('base64') };
    const path = join(cluster.layout.dir, `${namespace}-${role}.kubeconfig`);
    const config = {
      clusters: [{ name: 'c', cluster: server }],
      users: [{ name: 'u', user: { token: await cluster.token(namespace, role) } }],
      contexts: [{ name: 'here', context: { cluster: 'c', user: 'u', namespace } }],
      'current-context': 'here',
    };
    await writeFile(path, JSON.stringify(config), { mode: 0o600 });
    return path;
  }

  /** The files of a dump of west whose paths match, below each other. */
  async function dumpOf(kubeconfig: string): Promise<(path: RegExp) => string> {
    const folder = await mkdtemp(join(tmpdir(), 'earshot-dump-'));
    try {
      const file = join(folder, 'dump.tar.gz');
      const args = ['--kubeconfig', kubeconfig, '--namespace', west.name, 'debug', 'dump', file];
      await run(process.execPath, [MAIN, ...args], { env: environment({}), timeoutMs: 60_000 });
      const files = [...untar(gunzipSync(await readFile(file)))].map(([path, text]) => [path.slice(path.indexOf('/') + 1), text] as const);
      return (path) => {
        const found = files.filter(([name]) => path.test(name));
        assert.ok(found.length > 0, `no file of ${files.map(([name]) => name).join(' ')} matches ${path}`);
        return found.map(([, text]) => text).join('');
      };
    } finally {
      await rm(folder, { recursive: true });
    }
  }
});
