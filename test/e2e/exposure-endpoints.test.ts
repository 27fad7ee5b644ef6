import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { answerFromOutside } from './support/clients.ts';
import { byListener, claim, pod, webServer } from './support/manifests.ts';
import { useNamespace } from './support/namespace.ts';
import { expectedTree } from './support/tree.ts';

const PORT = 8080;
const PORTS = [{ name: 'http', port: PORT }];

describe('which pods a Listener with node ports leads to', { timeout: 400_000 }, () => {
  const namespace = useNamespace('endpoints');
  const { cluster } = namespace;
  const [node] = cluster.nodes;
  assert.ok(node);
  const [address = ''] = node.addresses;
  let className: string;

  before(async () => {
    className = await namespace.class('outside', { serviceType: 'NodePort' });
  });

  it('none at first, which the Ready condition says', async () => {
    await namespace.listener('empty', { className, ports: PORTS });
    const { message } = await namespace.condition('empty', 'Ready', 'False', 'NoNodes');
    assert.match(message, /No pod behind this Listener is on a node yet/);
  });

  it('pods that are not ready too, unless the Listener says otherwise; either way the pod knows its address from the start', async () => {
    for (const [name, publishNotReadyAddresses] of [
      ['eager', true],
      ['patient', false],
    ] as const) {
      await namespace.listener(name, { className, ports: PORTS, publishNotReadyAddresses });
      await namespace.create(claim(name, byListener(name)));
    }
    await namespace.create(
      pod('slow', {
        node: node.name,
        volumes: { eager: 'eager', patient: 'patient' },
        script: webServer(PORT),
        container: { readinessProbe: { exec: { command: ['test', '-e', '/tmp/ready'] }, periodSeconds: 1 } },
      }),
    );
    const { status } = await namespace.ready('eager');
    const ports = status?.nodePorts ?? {};
    assert.equal(await answerFromOutside(cluster, address, ports['http'] ?? 0), 'slow');
    const patient = await namespace.condition('patient', 'Ready', 'False', 'PodsNotReady');
    assert.match(patient.message, /Pod slow runs but is not ready/);
    const service = await namespace.service('patient');
    const own = [{ address, addressType: 'IP' as const, ports: { http: service.spec?.ports?.[0]?.nodePort ?? 0 } }];
    assert.deepEqual(await namespace.tree('slow', 'patient'), expectedTree(own));

    await namespace.exec('slow', ['touch', '/tmp/ready']);
    const ready = await namespace.ready('patient');
    assert.deepEqual(ready.status?.ingressAddresses, own);
    assert.equal(await answerFromOutside(cluster, address, own[0]?.ports.http ?? 0), 'slow');
  });

  it('of those that mount it only the ones with its extra labels, from the moment they have them', async () => {
    await namespace.listener('leader', { className, ports: PORTS, extraPodSelectorLabels: { role: 'leader' } });
    await namespace.create(
      claim('leader', byListener('leader')),
      pod('candidate', { node: node.name, volumes: { leader: 'leader' }, script: webServer(PORT) }),
    );
    await namespace.running('candidate');
    await namespace.condition('leader', 'Ready', 'False', 'NoNodes');
    await namespace.patch('v1', 'Pod', 'candidate', { metadata: { labels: { role: 'leader' } } });
    const { status } = await namespace.ready('leader');
    assert.equal(await answerFromOutside(cluster, address, status?.nodePorts?.['http'] ?? 0), 'candidate');
    await namespace.patch('v1', 'Pod', 'candidate', { metadata: { labels: { role: null } } });
    await namespace.condition('leader', 'Ready', 'False', 'NoNodes');
  });
});
