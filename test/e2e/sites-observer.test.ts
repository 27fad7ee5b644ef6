/** A NetworkObserver, as GitOps repositories have it, becomes a console with a password. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { NetworkObserver } from '../../src/api/skupper/network-observer.ts';
import type { CheckReport } from '../../src/explain/report.ts';
import type { Explanation } from '../../src/explain/step.ts';
import type { KubeObject, Secret } from '../../src/kube/objects.ts';
import { eventually } from '../harness/index.ts';
import { earshot, kubeconfigOf } from './support/at-home.ts';
import { nodeCommand } from './support/earshot.ts';
import { useNamespace } from './support/namespace.ts';
import { client, skupper, untilCondition } from './support/sites.ts';

const apiVersion = 'observability.skupper.io/v2alpha1';
const NAME = 'skupper-network-observer';

/** Path of each kind that a NetworkObserver owns, without the namespace. */
const OWNED: readonly (readonly [api: string, plural: string])[] = [
  ['/apis/apps/v1', 'deployments'],
  ['/api/v1', 'services'],
  ['/api/v1', 'secrets'],
  ['/api/v1', 'serviceaccounts'],
  ['/apis/rbac.authorization.k8s.io/v1', 'roles'],
  ['/apis/rbac.authorization.k8s.io/v1', 'rolebindings'],
  ['/apis/skupper.io/v2alpha1', 'certificates'],
];

describe('a NetworkObserver', { timeout: 400_000 }, () => {
  const west = useNamespace('observer');

  /** Names of the objects that it owns, `deployments/skupper-network-observer`. */
  async function owned(): Promise<readonly string[]> {
    const lists = await Promise.all(
      OWNED.map(async ([api, plural]) => {
        const { items } = await west.cluster.api.get<{ readonly items: readonly KubeObject[] }>(`${api}/namespaces/${west.name}/${plural}`);
        return items.filter(isOwned).map(({ metadata }) => `${plural}/${metadata.name}`);
      }),
    );
    return lists.flat();
  }
  const isOwned = ({ metadata }: KubeObject): boolean => metadata.ownerReferences?.some(({ kind }) => kind === 'NetworkObserver') === true;

  const deployed = (): Promise<NetworkObserver> =>
    west.until<NetworkObserver>(
      { apiVersion, kind: 'NetworkObserver', name: NAME },
      'is Deployed',
      ({ status }) => status?.conditions.some(({ type, status: value }) => type === 'Deployed' && value === 'True') === true,
      180_000,
    );

  before(async () => {
    // In any order, as a repository is applied.
    await west.create({
      apiVersion,
      kind: 'NetworkObserver',
      metadata: { name: NAME },
      spec: { auth: { strategy: 'openshift' }, nginx: { tag: '1' } },
    });
    await west.create(skupper('Site', 'west', { linkAccess: 'none' }));
    await west.create(await client('client', west.cluster));
    await untilCondition(west, 'Site', 'west');
  });

  /** Asks from a pod, since the host reaches no Services. */
  async function ask(
    path: string,
    authorization?: string,
  ): Promise<{ readonly status: number; readonly body: Readonly<Record<string, unknown>> }> {
    const certificate = await west.get<Secret>('v1', 'Secret', `${NAME}-tls`);
    const ca = Buffer.from(certificate?.data?.['ca.crt'] ?? '', 'base64').toString();
    const headers = { host: 'console.example', ...(authorization === undefined ? {} : { authorization }) };
    const options = { host: NAME, servername: NAME, path: `/api/v1/${path}`, headers, ca, timeout: 10_000 };
    const script = `require('node:https').get(${JSON.stringify(options)}, async (answer) => {
      const body = await require('node:stream/consumers').json(answer);
      process.stdout.write(JSON.stringify({ status: answer.statusCode, body }));
    });`;
    return JSON.parse(await west.exec('client', nodeCommand(script)));
  }

  it('is Deployed, and names the fields that have no effect', async () => {
    const { status } = await deployed();
    assert.deepEqual(status?.deployedRelease, { name: NAME });
    const supported = status?.conditions.find(({ type }) => type === 'SpecSupported');
    assert.equal(supported?.status, 'False');
    assert.match(supported?.message ?? '', /auth\.strategy.*nginx/);
  });

  it('has a console that answers at its Service with the user and password of its Secret, and with figures of the routers', async () => {
    const secret = await west.get<Secret>('v1', 'Secret', `${NAME}-auth`);
    const [, user, password] = /^(\w+):\{PLAIN\}(.+)$/.exec(Buffer.from(secret?.data?.['htpasswd'] ?? '', 'base64').toString()) ?? [];
    const basic = (given = ''): string => `Basic ${Buffer.from(`${user}:${given}`).toString('base64')}`;
    // The rules of a Service follow the readiness of its pods.
    await eventually('an answer without a password', async () => (await ask('overview')).status === 401);
    assert.equal((await ask('overview', basic('wrong'))).status, 401);
    const { body } = await ask('overview', basic(password));
    assert.equal(Reflect.get(Object(body['site']), 'status'), 'Ready');
    await eventually('connections without a missing right', async () => {
      const connections = await ask('connections', basic(password));
      return connections.status === 200 && JSON.stringify(connections.body['partial']) === '[]';
    });
  });

  it('is explained from the Site to its Service, also by check, and by users without a right to Secrets', async () => {
    const { stdout } = await earshot(west, ['explain', 'networkobserver', NAME, '-o', 'json']);
    const { verdict, steps } = JSON.parse(stdout) as Explanation;
    // The fields without effect.
    assert.equal(verdict, 'warn', stdout);
    assert.deepEqual(
      steps.filter(({ state }) => state !== 'pass').map(({ id }) => id),
      ['network-observer.fields'],
    );
    const { objects } = JSON.parse((await earshot(west, ['check', '-o', 'json'])).stdout) as CheckReport;
    assert.equal(objects.find(({ object }) => object === `NetworkObserver/${NAME}`)?.verdict, 'warn');
    const viewed = await earshot(west, ['explain', 'networkobserver', NAME, '-o', 'json'], await kubeconfigOf(west, 'view'));
    const unknown = (JSON.parse(viewed.stdout) as Explanation).steps.filter(({ state }) => state === 'unknown');
    assert.deepEqual(
      unknown.map(({ id, says }) => [id, says]),
      [['network-observer.certificate', `you have no right to get secrets in the namespace ${west.name}`]],
    );
  });

  it('lets the account of the console read no Secret but its own, and change nothing', async () => {
    const as = `--as=system:serviceaccount:${west.name}:${NAME}`;
    // kubectl exits with 1 for no.
    const may = (...right: readonly string[]): Promise<boolean> =>
      west.cluster.kubectl(['--namespace', west.name, 'auth', 'can-i', ...right, as]).then(
        (answer) => answer.trim() === 'yes',
        () => false,
      );
    assert.equal(await may('get', 'sites.skupper.io'), true);
    for (const right of [
      ['list', 'secrets'],
      ['get', `secrets/${NAME}-auth`],
      ['patch', 'sites.skupper.io'],
      ['get', 'accessgrants.skupper.io'],
      ['create', 'tokenreviews'],
    ])
      assert.equal(await may(...right), false, right.join(' '));
  });

  it('is repaired when a part of it is deleted', async () => {
    await west.remove('v1', 'Service', NAME);
    await west.until({ apiVersion: 'v1', kind: 'Service', name: NAME }, 'is there again', () => true);
  });

  it('leaves nothing behind', async () => {
    assert.equal((await owned()).length, 8);
    await west.remove(apiVersion, 'NetworkObserver', NAME);
    await eventually('all objects are gone', async () => (await owned()).length === 0);
  });
});
