/** The console of a site in a cluster: with the rights of a kubeconfig, and in a pod for users with tokens. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { request, type RequestOptions } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { IncomingMessage } from 'node:http';
import { before, describe, it } from 'node:test';
import type { ExposedListenerView, ExposedPodView, ListView, OverviewView } from '../../src/console/contract.ts';
import type { Pod } from '../../src/kube/objects.ts';
import { helm, CHART } from '../harness/chart.ts';
import { eventually } from '../harness/index.ts';
import { freshCertificate } from '../unit/support/certificate.ts';
import { kubeconfigOf, openConsole, writeKubeconfig, type Json } from './support/at-home.ts';
import { byListener, claim, pod, webServer } from './support/manifests.ts';
import { earshotImage } from './support/earshot.ts';
import { useNamespace } from './support/namespace.ts';
import { skupper, untilCondition } from './support/sites.ts';

interface Answer {
  readonly status: number;
  readonly body: Json;
}

describe('the console of a site in a cluster', { timeout: 400_000 }, () => {
  const west = useNamespace('console');

  before(async () => {
    await west.create(
      skupper('Site', 'west', { linkAccess: 'none' }),
      skupper('Listener', 'web', { host: 'web', port: 8080, routingKey: 'console-web' }),
      skupper('Certificate', 'reader', { ca: 'skupper-local-ca', subject: 'reader', client: true, settings: { purpose: 'api' } }),
    );
    await untilCondition(west, 'Site', 'west');
    await west.until({ apiVersion: 'v1', kind: 'Secret', name: 'reader' }, 'is there', () => true);
  });

  it('at home has state, figures and connections with the rights of an administrator', async () => {
    await using console = await openConsole(west);
    const overview = await eventually('figures, and nothing missing', async () => {
      const found = await console.get('overview');
      assert.equal(JSON.stringify(found['partial']), '[]');
      return Object.hasOwn(Object(found['totals']), 'eventLoopDelay') ? found : undefined;
    });
    assert.equal(Reflect.get(Object(overview['site']), 'status'), 'Ready');
    assert.deepEqual((await console.get('connections'))['partial'], []);
    assert.equal((await console.get('explain/Listener/web'))['object'], 'Listener/web');
  });

  it('at home names the rights that a viewer lacks', async () => {
    await using console = await openConsole(west, await kubeconfigOf(west, 'view'));
    const { site, partial } = await console.get('overview');
    assert.equal(Reflect.get(Object(site), 'status'), 'Ready');
    const says = JSON.stringify(partial);
    assert.match(says, /may not get pods\/proxy in the namespace/);
    assert.match(says, /may not list and watch accessgrants\.skupper\.io, accesstokens\.skupper\.io in the namespace/);
    assert.match(says, /may not get and create pods\/portforward in the namespace/);
  });

  it('at home is refused to an account without rights, with the right that it lacks', async () => {
    await west.create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'none' } });
    await assert.rejects(openConsole(west, await writeKubeconfig(west, 'none')), /your user may not list and watch sites\.skupper\.io/);
  });

  describe('in a pod', () => {
    let address = '';
    const { cert, key, ca } = freshCertificate();
    const proxy = freshCertificate();

    before(async () => {
      const { cluster, name } = west;
      const image = await earshotImage(cluster);
      const tag = image.lastIndexOf(':');
      const values = {
        image: { repository: image.slice(0, tag), tag: image.slice(tag + 1) },
        console: { enabled: true, namespaces: [name], tls: { secretName: 'console-tls', proxyCaSecretName: 'console-proxies' } },
      };
      const data = { 'tls.crt': Buffer.from(cert).toString('base64'), 'tls.key': Buffer.from(key).toString('base64') };
      const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'console-tls' }, type: 'kubernetes.io/tls', data };
      const authority = { 'ca.crt': Buffer.from(proxy.ca).toString('base64') };
      const proxies = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'console-proxies' }, data: authority };
      await west.create(secret, proxies);
      const only = ['--show-only', 'templates/console.yaml', '--api-versions', 'skupper.io/v2alpha1/Certificate'];
      const file = join(cluster.layout.dir, 'console.yaml');
      await writeFile(file, await helm(['template', name, CHART, '--namespace', name, ...only, '--values', '-'], values));
      await cluster.kubectl(['apply', '--server-side', '--filename', file]);
      await cluster.kubectl(['--namespace', name, 'rollout', 'status', `deployment/${name}-console`, '--timeout=120s'], {
        timeoutMs: 130_000,
      });
      const selector = encodeURIComponent('app.kubernetes.io/name=earshot-console');
      const { items } = await cluster.api.get<{ readonly items: readonly Pod[] }>(
        `/api/v1/namespaces/${name}/pods?labelSelector=${selector}`,
      );
      address = items[0]?.status?.podIP ?? '';
    });

    /** One for each account: the console reviews unknown tokens at a limited rate. */
    const tokens = new Map<string, Promise<string>>();

    async function ask(path: string, account: string | undefined): Promise<Answer> {
      if (account === undefined) return send(path, {});
      const token = await tokens.getOrInsertComputed(account, () => west.cluster.token(west.name, account));
      return send(path, { authorization: `Bearer ${token}` });
    }

    async function send(
      path: string,
      more: Readonly<Record<string, string>>,
      shown: Pick<RequestOptions, 'cert' | 'key'> = {},
    ): Promise<Answer> {
      const headers = { host: 'localhost', ...more };
      const options: RequestOptions = { host: address, port: 8443, path: `/api/v1/${path}`, headers, ca, agent: false, ...shown };
      const asked = request({ ...options, checkServerIdentity: () => undefined }).end();
      const [response] = (await once(asked, 'response')) as [IncomingMessage];
      return { status: response.statusCode ?? 0, body: JSON.parse(await text(response)) };
    }

    it('refuses requests without a token, and a user without rights', async () => {
      assert.equal((await ask('overview', undefined)).status, 401);
      assert.equal((await ask('overview', 'none')).status, 403);
    });

    it('shows a viewer the site, and no connections', async () => {
      const { status, body } = await ask('overview', 'view');
      assert.deepEqual([status, Reflect.get(Object(body['site']), 'status')], [200, 'Ready']);
      assert.equal((await ask('resources/Listener/web', 'view')).status, 200);
      assert.equal((await ask('connections', 'view')).status, 403);
    });

    it('admits the user that a proxy with a certificate names, and answers 401 to the headers without one', async () => {
      const binding = ['create', 'rolebinding', 'ann', '--clusterrole=view', '--user=ann'];
      await west.cluster.kubectl(['--namespace', west.name, ...binding]);
      const certificate = { cert: proxy.cert, key: proxy.key };
      assert.equal((await send('overview', { 'x-remote-user': 'ann' }, certificate)).status, 200);
      assert.equal((await send('overview', { 'x-remote-user': 'bob' }, certificate)).status, 403);
      assert.equal((await send('overview', { 'x-remote-user': 'ann' })).status, 401);
      assert.equal((await send('overview', { 'x-remote-user': 'ann' }, { cert, key })).status, 401);
    });

    describe('with exposed objects', () => {
      const as = `--as=system:serviceaccount:${west.name}:${west.name}-console`;

      before(async () => {
        const { cluster, name } = west;
        await west.exposed('works', { serviceType: 'NodePort', pinnedNodePorts: true });
        await west.create(claim('works', byListener('works')), pod('works', { volumes: { listener: 'works' }, script: webServer(8080) }));
        await west.exposed('late', { serviceType: 'LoadBalancer', loadBalancerClass: 'stand-in.example/none' });
        await west.create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'sites' } });
        await cluster.kubectl(['--namespace', name, 'create', 'role', 'sites', '--verb=get', '--resource=sites.skupper.io']);
        const binding = ['create', 'rolebinding', 'sites', '--role=sites', `--serviceaccount=${name}:sites`];
        await cluster.kubectl(['--namespace', name, ...binding]);
        await west.running('works');
        await west.condition('late', 'Ready', 'False', 'LoadBalancerPending');
      });

      it('shows them to a viewer, with addresses, pinned volumes and problems, and lacks no right', async () => {
        const works = await eventually('the Listener', async () => {
          const { status, body } = await ask('exposure/listeners', 'view');
          assert.deepEqual([status, body['partial']], [200, []]);
          const { items } = body as unknown as ListView<ExposedListenerView>;
          return items.find(({ name, verdict }) => name === 'works' && verdict === 'pass');
        });
        const addresses = (await west.ready('works')).status?.ingressAddresses ?? [];
        assert.deepEqual(
          works.addresses,
          addresses.map((each) => each.address),
        );
        const { items: pods } = (await ask('exposure/pods', 'view')).body as unknown as ListView<ExposedPodView>;
        const [running] = await west.running('works');
        assert.deepEqual(pods[0]?.mounts[0]?.pinnedTo, [running?.spec.nodeName]);
        const { problems } = (await ask('overview', 'view')).body as unknown as OverviewView;
        assert.ok(
          problems.some(({ object }) => object === 'listeners.listeners.stackable.tech/late'),
          JSON.stringify(problems),
        );
        const explained = await ask('explain/listeners.listeners.stackable.tech/works', 'view');
        assert.deepEqual([explained.status, explained.body['verdict']], [200, 'pass']);
      });

      it('shows no ListenerClass to a viewer of the namespace only', async () => {
        const { status, body } = await ask('exposure/classes', 'view');
        assert.deepEqual([status, body['items']], [200, []]);
        assert.equal((await ask(`exposure/classes/${west.className('works')}`, 'view')).status, 404);
        assert.equal((await ask(`explain/ListenerClass/${west.className('works')}`, 'view')).status, 403);
      });

      it('shows nothing of them to a user of Sites only', async () => {
        for (const path of ['exposure/listeners', 'exposure/classes', 'exposure/listeners/works', 'explain/Pod/works'])
          assert.equal((await ask(path, 'sites')).status, 403, path);
        const { status, body } = await ask('overview', 'sites');
        assert.deepEqual([status, body['exposure']], [200, undefined]);
        assert.doesNotMatch(JSON.stringify(body), /listeners\.stackable\.tech/);
      });

      it('has an account that lists no nodes, volumes or other Leases, and gets no node', async () => {
        const [running] = await west.running('works');
        const { spec } = await west.claim('works');
        const requests = [
          ['nodes'],
          ['nodes', running?.spec.nodeName ?? ''],
          ['persistentvolumes'],
          ['storageclasses'],
          ['leases', '--all-namespaces'],
          ['pods', '--all-namespaces'],
          ['secrets', '--namespace', west.name],
        ];
        for (const words of requests) await assert.rejects(west.cluster.kubectl(['get', ...words, as]), /[Ff]orbidden/, words.join(' '));
        await west.cluster.kubectl(['get', 'persistentvolumes', spec?.volumeName ?? '', as]);
      });
    });

    it('shows revocations to a user who may read their record', async () => {
      assert.equal((await ask('revocations', 'view')).status, 403);
      const reading = ['create', 'role', 'record', '--verb=get', '--resource=secrets', '--resource-name=skupper-site-ledger'];
      await west.cluster.kubectl(['--namespace', west.name, ...reading]);
      await west.create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'auditor' } });
      for (const role of ['role=record', 'clusterrole=view']) {
        const binding = ['create', 'rolebinding', `auditor-${role.length}`, `--${role}`, `--serviceaccount=${west.name}:auditor`];
        await west.cluster.kubectl(['--namespace', west.name, ...binding]);
      }
      const { status, body } = await ask('revocations', 'auditor');
      assert.deepEqual([status, body['items']], [200, []]);
    });

    it('asks the routers directly, with the certificate that the chart requests', async () => {
      await west.create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'operator' } });
      await west.cluster.kubectl([
        '--namespace',
        west.name,
        'create',
        'role',
        'sees',
        '--verb=get',
        '--resource=sites.skupper.io/connections',
      ]);
      for (const role of ['role=sees', 'clusterrole=view']) {
        const [kind, name] = role.split('=');
        const binding = ['create', 'rolebinding', `operator-${name}`, `--${kind}=${name}`, `--serviceaccount=${west.name}:operator`];
        await west.cluster.kubectl(['--namespace', west.name, ...binding]);
      }
      await eventually('connections without a missing right', async () => {
        const { status, body } = await ask('connections', 'operator');
        return status === 200 && JSON.stringify(body['partial']) === '[]';
      });
    });
  });
});
