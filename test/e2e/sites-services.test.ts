/** The Services of listeners against a real API server, which merges what several managers have written into one. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { Service } from '../../src/kube/objects.ts';
import { eventually } from '../harness/index.ts';
import type { Manifest } from './support/manifests.ts';
import { useNamespace } from './support/namespace.ts';
import { SKUPPER, skupper } from './support/sites.ts';

const SELECTOR = { application: 'skupper-router', 'skupper.io/component': 'router' };
const CONTROLLED = { 'internal.skupper.io/controlled': 'true' };

type Ports = readonly (readonly [name: string, port: number, targetPort: number])[];

/** As an earlier controller left it. */
function left(name: string, ports: Ports, annotations: Readonly<Record<string, string>> = CONTROLLED): Manifest {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, labels: { 'internal.skupper.io/listener': ports[0]?.[0] ?? '' }, annotations },
    spec: {
      selector: { ...SELECTOR, of: 'earlier' },
      ports: ports.map(([port, number, targetPort]) => ({ name: port, port: number, targetPort })),
    },
  };
}

const portsOf = ({ spec }: Service): unknown => spec?.ports?.map(({ name, port, targetPort }) => [name, port, targetPort]);
const selects = ({ spec }: Service): unknown => spec?.selector;

describe('Services of listeners', { timeout: 120_000 }, () => {
  const west = useNamespace('services');
  const listener = (name: string, host: string, port: number): Manifest => skupper('Listener', name, { routingKey: name, host, port });
  /** Waits until a Service has these ports and selects the routers, and nothing else. */
  const settled = (name: string, ports: Ports): Promise<Service> =>
    eventually(`the ports of ${name}`, async () => {
      const service = await west.service(name);
      assert.deepEqual([portsOf(service), selects(service)], [ports, SELECTOR]);
      return service;
    });
  const gone = (name: string): Promise<unknown> =>
    eventually(`${name} to be gone`, async () => (await west.get('v1', 'Service', name)) === undefined);
  const addresses = new Map<string, string | undefined>();

  before(async () => {
    await west.create(
      left('kept', [
        ['one', 8080, 1030],
        ['two', 9090, 1031],
        ['nobodys', 7000, 1032],
      ]),
      left('moved', [['moved', 80, 1033]]),
      left('orphan', [['orphan', 80, 1034]]),
      left('his', [['his', 80, 1035]], {}),
      { apiVersion: 'v1', kind: 'Service', metadata: { name: 'foreign' }, spec: { selector: { app: 'x' }, ports: [{ port: 80 }] } },
    );
    for (const name of ['kept', 'moved', 'his']) addresses.set(name, (await west.service(name)).spec?.clusterIP);
    await west.create(
      listener('one', 'kept', 8080),
      listener('two', 'kept', 9090),
      listener('moved', 'moved', 81),
      listener('his', 'his', 80),
      listener('foreign', 'foreign', 80),
      skupper('MultiKeyListener', 'both', { host: 'new', port: 80, strategy: { priority: { routingKeys: ['one', 'two'] } } }),
      skupper('Site', 'west'),
    );
  });

  it('that an earlier controller left are taken over with their addresses and ports, and nothing of it stays in them', async () => {
    await settled('kept', [
      ['one', 8080, 1030],
      ['two', 9090, 1031],
    ]);
    // The port had this name at another number, which the API server does not take beside it.
    await settled('moved', [['moved', 81, 1033]]);
    await settled('his', [['his', 80, 1035]]);
    await settled('new', [['multiaddress-both', 80, 1024]]);
    for (const [name, address] of addresses) assert.equal((await west.service(name)).spec?.clusterIP, address);
    await gone('orphan');
    const { spec, metadata } = await west.service('foreign');
    assert.deepEqual([spec?.selector, metadata.labels], [{ app: 'x' }, undefined]);
  });

  it('get what is changed: a host, a port, and by hand a selector, ports or all of it', async () => {
    await west.patch(SKUPPER, 'Listener', 'two', { spec: { host: 'else' } });
    await settled('else', [['two', 9090, 1025]]);
    await settled('kept', [['one', 8080, 1030]]);
    await west.patch(SKUPPER, 'Listener', 'one', { spec: { port: 8081 } });
    await settled('kept', [['one', 8081, 1030]]);
    await west.patch('v1', 'Service', 'new', { spec: { selector: { more: 'x' }, ports: [{ name: 'more', port: 1, targetPort: 1 }] } });
    await settled('new', [['multiaddress-both', 80, 1024]]);
    await west.remove('v1', 'Service', 'else');
    await settled('else', [['two', 9090, 1025]]);
  });

  it('are deleted with the last of their listeners, except those of another owner', async () => {
    for (const name of ['one', 'two', 'his', 'foreign']) await west.remove(SKUPPER, 'Listener', name);
    for (const name of ['kept', 'else']) await gone(name);
    for (const name of ['his', 'foreign']) assert.notEqual(await west.get('v1', 'Service', name), undefined);
  });
});
