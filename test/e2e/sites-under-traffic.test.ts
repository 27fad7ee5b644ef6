/** Clients go on asking while keys, certificates and whole sites come and go. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { AccessToken, MultiKeyListener, Site } from '../../src/api/skupper/index.ts';
import type { KubeObject } from '../../src/kube/objects.ts';
import { eventually } from '../harness/index.ts';
import { pod, webServer, type Manifest } from './support/manifests.ts';
import { useNamespace, type Namespace } from './support/namespace.ts';
import { collectionOf } from './support/paths.ts';
import { AGES, makeCertificates, nginx, nginxConfigs, secret, serve, type Certificates, type Data } from './support/nginx.ts';
import { Asked, curls, webPrograms } from './support/programs.ts';
import { linkByToken, SKUPPER, skupper, untilCondition } from './support/sites.ts';

/** Number of answers for measuring a share. */
const SAMPLE = 60;

describe('three sites whose clients go on asking', { timeout: 300_000 }, () => {
  const west = useNamespace('west');
  const east = useNamespace('east');
  const north = useNamespace('north');
  const ask = (name: string): Asked => new Asked(west, 'client', name);
  const [first, shared, two, tls] = [ask('first'), ask('shared'), ask('two'), ask('tls')];
  const connector = (name: string, spec: object = {}): Manifest =>
    skupper('Connector', name, { routingKey: name, selector: `app=${name}`, port: 8080, ...spec });
  const web = (name: string): Manifest => pod(name, { labels: { app: name }, script: webServer(8080) });
  const keys = (name: string, what: string, isWanted: (status: MultiKeyListener['status']) => boolean): Promise<MultiKeyListener> =>
    west.until<MultiKeyListener>({ apiVersion: SKUPPER, kind: 'MultiKeyListener', name }, what, ({ status }) => isWanted(status));
  let certificates: Certificates;
  let usersOwn: readonly string[];

  before(async () => {
    const image = await webPrograms(west.cluster);
    certificates = await makeCertificates();
    const { front, back, server, trusted } = certificates;
    await west.create(
      secret('trusted', { 'ca.crt': trusted.both }),
      secret('front', front.old),
      skupper('Site', 'west', { linkAccess: 'default' }),
      skupper('Listener', 'two', { host: 'two', port: 8080, routingKey: 'two' }),
      skupper('Listener', 'tls', { host: 'tls', port: 8443, routingKey: 'tls', tlsCredentials: 'front' }),
      skupper('MultiKeyListener', 'first', { host: 'first', port: 8080, strategy: { priority: { routingKeys: ['one', 'two'] } } }),
      skupper('MultiKeyListener', 'shared', { host: 'shared', port: 8080, strategy: { weighted: { routingKeys: { one: 3, two: 1 } } } }),
    );
    await east.create(
      ...AGES.map((age) => secret(`server-${age}`, { ...server[age], 'ca.crt': trusted.both })),
      secret('back', back.old),
      nginxConfigs(),
      nginx(image),
      web('one'),
      connector('one'),
      connector('tls', { port: 8443, tlsCredentials: 'back', useClientCert: true }),
    );
    usersOwn = await objectsOf(east);
    await east.create(skupper('Site', 'east'));
    await north.create(skupper('Site', 'north'), connector('two'), web('two'));
    await linkByToken(east, west, 'of-east');
    await linkByToken(north, west, 'of-north');
    const plain = ['first', 'shared', 'two'].map((name) => [name, [`http://${name}:8080/`]] as const);
    const urls = { ...Object.fromEntries(plain), tls: ['--cacert', '/trusted/ca.crt', 'https://tls:8443/'] };
    await west.create(curls('client', image, urls, ['trusted']));
    await west.running('client');
    await first.until('one');
    await shared.until('one');
    await two.until('two');
    await tls.until('CN=back-old at old');
    for (const asked of [first, shared, two, tls]) await asked.forget();
  });

  it('reach keys by priority and by weight while these come and go, as long as one is left', async () => {
    const few = 5;
    const answers = await shared.untilOnly(['one', 'two'], SAMPLE);
    const share = answers.filter((text) => text === 'one').length / SAMPLE;
    assert.ok(share > 0.5 && share < 0.98, `${share} went to one`);

    await east.remove(SKUPPER, 'Connector', 'one');
    await first.untilOnly(['two'], few);
    await shared.untilOnly(['two'], few);
    await keys('first', 'reaches the second', (status) => status?.strategy?.priority?.routingKeysReachable?.join() === 'two');
    await east.create(connector('one'));
    await first.untilOnly(['one'], few);
    await keys('shared', 'reaches both', (status) => status?.strategy?.weighted?.routingKeysReachable?.['one'] === 3);

    await west.patch(SKUPPER, 'MultiKeyListener', 'shared', { spec: { strategy: { weighted: { routingKeys: { one: 1, two: 0 } } } } });
    await shared.untilOnly(['one'], few * 6);
    await west.patch(SKUPPER, 'MultiKeyListener', 'first', { spec: { strategy: { priority: { routingKeys: ['two', 'one'] } } } });
    await first.untilOnly(['two'], few);
    await north.remove(SKUPPER, 'Connector', 'two');
    await first.untilOnly(['one'], few);
    assert.deepEqual([await first.failures(), await shared.failures()], [[], []]);

    await east.remove(SKUPPER, 'Connector', 'one');
    await untilCondition(west, 'MultiKeyListener', 'first', 'Operational', { value: 'False' });
    await first.untilFailure();
    await east.create(connector('one'));
    await north.create(connector('two'));
    await first.untilOnly(['two'], few);
  });

  it('are served over TLS at both ends while each certificate and each authority is replaced', async () => {
    const { front, back, trusted } = certificates;
    await inClient(
      // What goes on in the background holds nothing that this command is waited for by.
      `({ ${REQUEST('keep-alive')}; until [ -e /tmp/go ]; do sleep 0.1; done; ${REQUEST('close')}; } | ${CONNECT} -quiet > /tmp/held 2>&1) > /dev/null 2>&1 &`,
    );
    await heldAnswers(['CN=back-old at old']);
    assert.match(await shown(), /CN = front-old/);

    await replace(west, 'front', front.new);
    await eventually('the new certificate of the listener', async () => /CN = front-new/.test(await shown()));
    await replace(east, 'back', { ...back.new, 'ca.crt': trusted.both });
    await tls.until('CN=back-new at old');
    // A connection from before goes on as it was.
    await inClient('touch /tmp/go');
    await heldAnswers(['CN=back-old at old', 'CN=back-old at old']);
    await serve(east, 'new');
    await tls.until('CN=back-new at new');
    assert.deepEqual(await tls.failures(), []);

    await replace(east, 'back', back.new);
    await serve(east, 'old');
    // The certificate that it was trusted by is withdrawn: no client may be served.
    await tls.untilFailure();
    await serve(east, 'new');
    await tls.until('CN=back-new at new');
  });

  it('of another site notice nothing while a Site is followed by another of its namespace', async () => {
    await two.forget();
    const asTheyWere = await versionsOf(east);
    await east.create(skupper('Site', 'second'));
    const { status } = await untilCondition<Site>(east, 'Site', 'second', 'Configured', { value: 'False' });
    assert.match(status?.message ?? '', /^An active site already exists in the namespace \(east\)/);
    await untilCondition(east, 'Site', 'east');
    await tls.until('CN=back-new at new');
    assert.deepEqual(await versionsOf(east), asTheyWere);

    await east.remove(SKUPPER, 'Site', 'east');
    await untilCondition(east, 'Site', 'second');
    await linkByToken(east, west, 'again');
    await tls.until('CN=back-new at new');
    const told = await east.until<AccessToken>(
      { apiVersion: SKUPPER, kind: 'AccessToken', name: 'of-east' },
      'says that its site is gone',
      (token) => /deleted site/.test(token.status?.message ?? ''),
    );
    assert.equal(told.status?.redeemed, true);
    assert.deepEqual(await two.failures(), []);
  });

  it('of another site notice nothing while a Site is deleted, which leaves nothing, and comes back', async () => {
    await two.forget();
    await east.remove(SKUPPER, 'Site', 'second');
    await eventually('nothing of the Site to be left', async () => {
      assert.deepEqual(await objectsOf(east), usersOwn);
      return true;
    });
    await tls.untilFailure();
    await untilCondition(west, 'Listener', 'tls', 'Matched', { value: 'False' });
    await east.create(skupper('Site', 'east'));
    await linkByToken(east, west, 'once-more');
    await tls.until('CN=back-new at new');
    assert.deepEqual(await two.failures(), []);
  });

  const inClient = (script: string): Promise<string> => west.exec('client', ['sh', '-c', script], 'tls');
  const shown = (): Promise<string> => inClient(`${CONNECT} < /dev/null 2>&1 | openssl x509 -noout -subject`);
  const heldAnswers = (texts: readonly string[]): Promise<unknown> =>
    eventually(`${texts.length} answers over one connection`, async () => {
      assert.deepEqual((await inClient('cat /tmp/held')).match(/CN=\S+ at (?:old|new)/g), texts);
      return true;
    });
});

const CONNECT = 'openssl s_client -connect tls:8443 -servername tls -verify_hostname tls -verify_return_error -CAfile /trusted/ca.crt';
const REQUEST = (connection: string): string => String.raw`printf 'GET / HTTP/1.1\r\nHost: tls\r\nConnection: ${connection}\r\n\r\n'`;
const replace = (namespace: Namespace, name: string, data: Data): Promise<unknown> => namespace.patch('v1', 'Secret', name, { data });

/** What a Site makes in its namespace, or has made. */
const KINDS = [
  ['apps/v1', 'Deployment'],
  ['v1', 'Service'],
  ['v1', 'ServiceAccount'],
  ['v1', 'Secret'],
  ['v1', 'ConfigMap'],
  ['v1', 'Pod'],
  ['rbac.authorization.k8s.io/v1', 'Role'],
  ['rbac.authorization.k8s.io/v1', 'RoleBinding'],
  ['coordination.k8s.io/v1', 'Lease'],
  [SKUPPER, 'RouterAccess'],
  [SKUPPER, 'SecuredAccess'],
  [SKUPPER, 'Certificate'],
  [SKUPPER, 'Link'],
] as const;

async function listed({ cluster, name }: Namespace): Promise<readonly (readonly [string, KubeObject])[]> {
  const lists = KINDS.map(async ([apiVersion, kind]) => {
    const { items } = await cluster.api.get<{ readonly items: readonly KubeObject[] }>(collectionOf(apiVersion, kind, name));
    return items.map((item) => [`${kind} ${item.metadata.name}`, item] as const);
  });
  // Kubernetes makes it some time after the namespace.
  return (await Promise.all(lists)).flat().filter(([what]) => what !== 'ConfigMap kube-root-ca.crt');
}

const objectsOf = async (namespace: Namespace): Promise<readonly string[]> => (await listed(namespace)).map(([what]) => what).sort();

/** State that no controller may have written: without fields about the present. */
const versionsOf = async (namespace: Namespace): Promise<readonly string[]> =>
  (await listed(namespace))
    .filter(([what]) => /^(?:Service|ServiceAccount|Secret|Role|RoleBinding|RouterAccess|Certificate|Pod) /.test(what))
    .map(([what, { metadata }]) => `${what} ${metadata.uid} ${what.startsWith('Pod ') ? '' : metadata.resourceVersion}`)
    .sort();
