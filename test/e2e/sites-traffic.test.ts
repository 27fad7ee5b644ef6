/** Three sites in a row: what listeners of one end do as connectors of the others, Secrets and templates come and go. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { Connector, Link, Listener, MultiKeyListener } from '../../src/api/skupper/index.ts';
import type { KubeObject } from '../../src/kube/objects.ts';
import { eventually } from '../harness/index.ts';
import { nodeCommand } from './support/earshot.ts';
import { pod, webServer, type Manifest } from './support/manifests.ts';
import { useNamespace, type Namespace } from './support/namespace.ts';
import { client, fetched, issued, linkByToken, SKUPPER, skupper, untilCondition } from './support/sites.ts';

const SERVICES = 50;

describe('three sites in a row', { timeout: 300_000 }, () => {
  const west = useNamespace('west');
  const middle = useNamespace('middle');
  const east = useNamespace('east');
  const connector = (name: string, spec: object = {}): Manifest =>
    skupper('Connector', name, { routingKey: name, selector: `app=${name}`, port: 8080, ...spec });
  const listener = (name: string, spec: object = {}): Manifest =>
    skupper('Listener', name, { routingKey: name, host: name, port: 8080, ...spec });
  const web = (name: string): Manifest => pod(name, { labels: { app: name, all: 'web' }, script: webServer(8080) });
  const answer = async (host: string): Promise<string> => (await fetched(west, 'client', `http://${host}:8080/`)).trim();
  const told = (name: string, what: string, isWanted: (status: MultiKeyListener['status']) => boolean): Promise<MultiKeyListener> =>
    west.until<MultiKeyListener>({ apiVersion: SKUPPER, kind: 'MultiKeyListener', name }, what, ({ status }) => isWanted(status));
  const says = (name: string, message: RegExp): Promise<Listener> =>
    west.until<Listener>({ apiVersion: SKUPPER, kind: 'Listener', name }, `says ${message}`, ({ status }) =>
      message.test(status?.message ?? ''),
    );

  before(async () => {
    await west.create(
      skupper('Site', 'west', { linkAccess: 'default' }),
      listener('one'),
      skupper('MultiKeyListener', 'first', { host: 'first', port: 8080, strategy: { priority: { routingKeys: ['one', 'two'] } } }),
      skupper('MultiKeyListener', 'shared', { host: 'shared', port: 8080, strategy: { weighted: { routingKeys: { one: 1, two: 0 } } } }),
      await client('client', west.cluster),
    );
    await middle.create(skupper('Site', 'middle', { linkAccess: 'default' }), connector('two'), web('two'));
    await east.create(skupper('Site', 'east'), connector('one'), web('one'), web('three'), web('four'));
    await linkByToken(middle, west, 'to-west');
    await linkByToken(east, middle, 'to-middle');
  });

  it('reach each other from end to end', async () => {
    await west.running('client');
    assert.equal(await answer('one'), 'one');
    const { status } = await untilCondition<Link>(middle, 'Link', 'to-west');
    assert.equal(status?.remoteSiteName, 'west');
  });

  it('report which keys can be reached, by priority and by weight', async () => {
    const first = await told('first', 'reaches both', (status) => status?.strategy?.priority?.routingKeysReachable?.length === 2);
    assert.deepEqual([first.status?.strategy?.priority?.routingKeysReachable, first.status?.hasDestination], [['one', 'two'], true]);
    const shared = await told('shared', 'reaches both', (status) => status?.strategy?.weighted?.routingKeysReachable?.['two'] === 0);
    assert.deepEqual(shared.status?.strategy?.weighted?.routingKeysReachable, { one: 1, two: 0 });
  });

  it('serve over TLS from a Secret, once it is there, and from what it becomes', async () => {
    await west.create(listener('tls', { routingKey: 'one', port: 8443, tlsCredentials: 'shown' }));
    await says('tls', /^TLS credentials secret "shown" not found/);
    const peer = (options = ''): Promise<string> => shownTo(west, `ca, ${options}`);
    const ca = await issued(west, 'shown', ['tls']);
    await untilCondition(west, 'Listener', 'tls');
    assert.equal(await eventually('a certificate', () => peer()), 'shown one');
    assert.equal(ca.type, 'kubernetes.io/tls');
    const { data } = await issued(west, 'other', ['tls']);
    await west.remove(SKUPPER, 'Certificate', 'shown');
    await eventually('the Secret to be gone', async () => (await west.get('v1', 'Secret', 'shown')) === undefined);
    await west.create({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'shown' }, type: 'kubernetes.io/tls', data } as KubeObject);
    await eventually('the other certificate', async () => (await peer()) === 'other one');
    await west.patch(SKUPPER, 'Listener', 'tls', { spec: { requireClientCert: true } });
    await eventually('a client without one to be refused', () =>
      peer().then(
        () => false,
        () => true,
      ),
    );
    assert.equal(await eventually('an answer to who shows one', () => peer('cert, key')), 'other one');
  });

  it('report a host and port that another listener has, and a Service of another owner', async () => {
    await west.create(
      { apiVersion: 'v1', kind: 'Service', metadata: { name: 'taken' }, spec: { ports: [{ port: 80 }] } } as KubeObject,
      listener('again', { host: 'one', routingKey: 'one' }),
      listener('beside', { host: 'one', routingKey: 'one', port: 8081 }),
      listener('taken'),
    );
    await says('again', /^Listener one with host one and port 8080 already exists in namespace/);
    await says('taken', /^Service taken already exists in namespace/);
    await untilCondition(west, 'Listener', 'beside');
  });

  it('put on and take off what templates say, on every kind', async () => {
    const objects = [
      ['apps/v1', 'Deployment', 'skupper-router'],
      ['v1', 'Service', 'one'],
      ['v1', 'Service', 'skupper-router-local'],
      ['v1', 'ConfigMap', 'skupper-router'],
      ['v1', 'Secret', 'skupper-site-server'],
      [SKUPPER, 'Certificate', 'skupper-site-ca'],
      [SKUPPER, 'SecuredAccess', 'skupper-router'],
    ] as const;
    const have = (wanted: string | undefined): Promise<unknown> =>
      eventually(`labels ${wanted}`, async () => {
        for (const [apiVersion, kind, name] of objects) {
          const metadata = (await west.get(apiVersion, kind, name))?.metadata;
          assert.deepEqual([kind, metadata?.labels?.['acme.foo/team'], metadata?.annotations?.['acme.foo/note']], [kind, wanted, wanted]);
        }
        return true;
      });
    const metadata = {
      name: 'template',
      labels: { 'skupper.io/label-template': 'true', 'acme.foo/team': 'a' },
      annotations: { 'acme.foo/note': 'a' },
    };
    await west.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata });
    await have('a');
    await west.remove('v1', 'ConfigMap', 'template');
    await have(undefined);
    await untilCondition(west, 'Site', 'west');
  });

  it(`have ${SERVICES} services on the same three pods, all ready, and each answers`, async () => {
    const names = Array.from({ length: SERVICES }, (_, index) => `svc-${index}`);
    const pods = ['four', 'one', 'three'];
    await Promise.all(names.flatMap((name) => [west.create(listener(name)), east.create(connector(name, { selector: 'all=web' }))]));
    await Promise.all(names.flatMap((name) => [untilCondition(west, 'Listener', name), untilCondition(east, 'Connector', name)]));
    const { status } = await untilCondition<Connector>(east, 'Connector', 'svc-49');
    assert.deepEqual(status?.selectedPods?.map(({ name }) => name).sort(), pods);
    const answers = await eventually('an answer of each', () => west.exec('client', nodeCommand(asking(names))));
    assert.deepEqual([...new Set(answers.trim().split(/\s+/))].sort(), pods);
    assert.equal(answers.trim().split(/\s+/).length, SERVICES);
  });
});

/** Prints what each answers. */
function asking(names: readonly string[]): string {
  return `
const ask = (name) => fetch('http://' + name + ':8080/', { signal: AbortSignal.timeout(5000) }).then((answer) => answer.text());
void Promise.all(${JSON.stringify(names)}.map(ask)).then((answers) => process.stdout.write(answers.join(' ')));`;
}

/** Who answers over TLS, and the name in its certificate, as Node.js sees it from a pod that trusts the site's authority. */
async function shownTo(namespace: Namespace, options: string): Promise<string> {
  const { data = {} } =
    (await namespace.get<KubeObject & { readonly data?: Readonly<Record<string, string>> }>('v1', 'Secret', 'other')) ??
    (await namespace.get<KubeObject & { readonly data?: Readonly<Record<string, string>> }>('v1', 'Secret', 'shown')) ??
    {};
  const script = `
const [ca, cert, key] = ${JSON.stringify([data['ca.crt'], data['tls.crt'], data['tls.key']])}.map((text) => Buffer.from(text, 'base64'));
const request = require('node:https').get({ host: 'tls', port: 8443, timeout: 5000, agent: false, ${options} }, (response) => {
  response.setEncoding('utf8').on('data', (text) => process.stdout.write(request.socket.getPeerCertificate().subject.CN + ' ' + text.trim()));
});`;
  return namespace.exec('client', nodeCommand(script));
}
