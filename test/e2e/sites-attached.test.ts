/** Pods of a namespace that has no site, attached to the site of another, for the clients of a third. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { AttachedConnector, AttachedConnectorBinding } from '../../src/api/skupper/index.ts';
import { eventually } from '../harness/index.ts';
import { earshotImage, nodeCommand } from './support/earshot.ts';
import { pod } from './support/manifests.ts';
import { useNamespace } from './support/namespace.ts';
import { client as clientPod, fetched, issued, linkByToken, SKUPPER, skupper, untilCondition, webDeployment } from './support/sites.ts';

/** Answers with the client's name, over TLS, and refuses clients without a certificate of the authority. */
const TLS_SERVER = `
const { readFileSync } = require('node:fs');
const of = (file) => readFileSync('/tls/' + file);
const tls = { cert: of('tls.crt'), key: of('tls.key'), ca: of('ca.crt'), requestCert: true };
require('node:https').createServer(tls, (request, response) => response.end(request.socket.getPeerCertificate().subject.CN)).listen(8443);
`;

describe('an attached connector', { timeout: 300_000 }, () => {
  const hub = useNamespace('hub');
  const workload = useNamespace('workload');
  const client = useNamespace('client');
  const connector = (name: string, port: number, more: object = {}): Parameters<typeof skupper> => [
    'AttachedConnector',
    name,
    { siteNamespace: hub.name, selector: `app=${name}`, port, ...more },
  ];
  const binding = (name: string): Parameters<typeof skupper> => [
    'AttachedConnectorBinding',
    name,
    { connectorNamespace: workload.name, routingKey: name },
  ];

  before(async () => {
    await hub.create(skupper('Site', 'hub', { linkAccess: 'default' }), skupper(...binding('web')));
    await client.create(
      skupper('Site', 'client'),
      skupper('Listener', 'web', { routingKey: 'web', host: 'web', port: 8080 }),
      skupper('Listener', 'tls', { routingKey: 'tls', host: 'tls', port: 8080 }),
      await clientPod('client', client.cluster),
    );
    await workload.create(webDeployment('web', 1), skupper(...connector('web', 8080)));
  });

  it('serves clients of another site, and reports which pods it has selected', async () => {
    await untilCondition(workload, 'AttachedConnector', 'web');
    await linkByToken(client, hub, 'to-hub');
    const bound = await untilCondition<AttachedConnectorBinding>(hub, 'AttachedConnectorBinding', 'web');
    assert.deepEqual([bound.status?.status, bound.status?.message, bound.status?.hasMatchingListener], ['Ready', 'OK', true]);
    const { status } = await untilCondition<AttachedConnector>(workload, 'AttachedConnector', 'web');
    assert.match(JSON.stringify(status?.selectedPods), /"name":"web-/);
    await client.running('client');
    assert.match(await fetched(client, 'client', 'http://web:8080/'), /^web-/);
  });

  it('to servers with TLS trusts what the site names, and shows its certificate', async () => {
    const { type, data } = await issued(hub, 'tls-server', ['tls']);
    await issued(hub, 'shown', ['shown']);
    const volumes = [{ name: 'tls', secret: { secretName: 'tls-server' } }];
    const mounted = { container: { volumeMounts: [{ name: 'tls', mountPath: '/tls' }] }, spec: { volumes }, labels: { app: 'tls' } };
    await workload.create(
      { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'tls-server' }, type, data } as never,
      pod('tls', { ...mounted, image: await earshotImage(hub.cluster), command: nodeCommand(TLS_SERVER) }),
      skupper(...connector('tls', 8443, { tlsCredentials: 'shown', useClientCert: true })),
    );
    await hub.create(skupper(...binding('tls')));
    await untilCondition(hub, 'AttachedConnectorBinding', 'tls');
    assert.equal(await fetched(client, 'client', 'http://tls:8080/'), 'shown');
  });

  it('ends when either side takes its consent back', async () => {
    await hub.patch(SKUPPER, 'AttachedConnectorBinding', 'web', { spec: { connectorNamespace: client.name } });
    await untilCondition(workload, 'AttachedConnector', 'web', 'Configured', { value: 'False' });
    await eventually('the other site to miss it', () => untilCondition(client, 'Listener', 'web', 'Matched', { value: 'False' }));
    await workload.remove(SKUPPER, 'AttachedConnector', 'tls');
    await untilCondition(client, 'Listener', 'tls', 'Matched', { value: 'False' });
    const { status } = await untilCondition(hub, 'AttachedConnectorBinding', 'tls', 'Configured', { value: 'False' });
    assert.match(status?.message ?? '', /^No matching AttachedConnector/);
  });
});
