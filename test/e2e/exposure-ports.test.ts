import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ListenerPort } from '../../src/api/listeners/index.ts';
import { answerFromOutside, echoedFromOutside } from './support/clients.ts';
import { earshotImage, nodeCommand } from './support/earshot.ts';
import { byClass, container, pod, SLEEP } from './support/manifests.ts';
import { type RunningPod, useNamespace } from './support/namespace.ts';
import { expectedTree } from './support/tree.ts';

/** Number 5353 on TCP and on UDP: two servers with different answers. */
const servers = `
  const udp = require('node:dgram').createSocket('udp4');
  udp.on('message', (message, peer) => udp.send('udp ' + message, peer.port, peer.address)).bind(5353);
  require('node:http').createServer((_, response) => response.end('tcp')).listen(5353);
`;

const longestName = 'p'.repeat(63);

/** Ports of a Listener and what comes of them: a map of name to number and protocol, or a condition. */
const rows: readonly {
  readonly name: string;
  readonly behaviour: string;
  readonly ports?: readonly ListenerPort[];
  readonly exposed: Readonly<Record<string, string>>;
  readonly note?: RegExp;
}[] = [
  {
    name: 'protocols',
    behaviour: 'takes TCP, UDP and SCTP, one number on several protocols among them',
    ports: [
      { name: 'dns', port: 53, protocol: 'UDP' },
      { name: 'dns-tcp', port: 53, protocol: 'TCP' },
      { name: 'sctp', port: 132, protocol: 'SCTP' },
      { name: 'http', port: 80 },
    ],
    exposed: { dns: '53/UDP', 'dns-tcp': '53/TCP', sctp: '132/SCTP', http: '80/TCP' },
  },
  {
    name: 'one-name',
    behaviour: 'keeps both of two ports with one name: the last under it, the other under its number, which the condition reports',
    ports: [
      { name: 'http', port: 80 },
      { name: 'http', port: 8080 },
    ],
    exposed: { http: '8080/TCP', 'port-80': '80/TCP' },
    note: /two ports have the name http; TCP 80 is exposed as port-80/,
  },
  {
    name: 'one-name-protocols',
    behaviour: 'keeps both of two ports with one name and number, by protocol',
    ports: [
      { name: 'dns', port: 53, protocol: 'UDP' },
      { name: 'dns', port: 53, protocol: 'TCP' },
    ],
    exposed: { dns: '53/TCP', 'port-53': '53/UDP' },
    note: /two ports have the name dns; UDP 53 is exposed as port-53/,
  },
  {
    name: 'no-name',
    behaviour: 'calls a port without a name after its number, which the condition reports',
    ports: [{ name: '', port: 80 }],
    exposed: { 'port-80': '80/TCP' },
    note: /a port has no name; TCP 80 is exposed as port-80/,
  },
  {
    name: 'long-name',
    behaviour: 'takes the longest name that a Service allows',
    ports: [{ name: longestName, port: 80 }],
    exposed: { [longestName]: '80/TCP' },
  },
];

const refused: readonly {
  readonly name: string;
  readonly behaviour: string;
  readonly ports?: readonly ListenerPort[];
  readonly reason: string;
  readonly message: RegExp;
}[] = [
  {
    name: 'left-out',
    behaviour: 'no ports at all',
    reason: 'NoPorts',
    message: /spec\.ports is empty, and a Service needs at least one port/,
  },
  { name: 'none', behaviour: 'an empty list', ports: [], reason: 'NoPorts', message: /spec\.ports is empty/ },
  {
    name: 'too-long',
    behaviour: 'a name of 64 characters',
    ports: [{ name: 'p'.repeat(64), port: 80 }],
    reason: 'ServiceRejected',
    message: /must be no more than 63 characters/,
  },
  {
    name: 'upper-case',
    behaviour: 'a name in capitals',
    ports: [{ name: 'HTTP', port: 80 }],
    reason: 'ServiceRejected',
    message: /spec\.ports\[0\]\.name.*"HTTP"/,
  },
  {
    name: 'path',
    behaviour: 'a name that is a path',
    ports: [{ name: '../../x', port: 80 }],
    reason: 'ServiceRejected',
    message: /spec\.ports\[0\]\.name/,
  },
  {
    name: 'zero',
    behaviour: 'number 0',
    ports: [{ name: 'http', port: 0 }],
    reason: 'ServiceRejected',
    message: /spec\.ports\[0\]\.port.*between 1 and 65535/,
  },
  {
    name: 'too-high',
    behaviour: 'number 65536',
    ports: [{ name: 'http', port: 65_536 }],
    reason: 'ServiceRejected',
    message: /between 1 and 65535/,
  },
  {
    name: 'negative',
    behaviour: 'a negative number',
    ports: [{ name: 'http', port: -1 }],
    reason: 'ServiceRejected',
    message: /between 1 and 65535/,
  },
  {
    name: 'protocol',
    behaviour: 'a protocol that there is not',
    ports: [{ name: 'http', port: 80, protocol: 'QUIC' }],
    reason: 'ServiceRejected',
    message: /protocol.*"QUIC"/,
  },
  {
    name: 'twice',
    behaviour: 'one number and protocol under two names',
    ports: [
      { name: 'a', port: 80 },
      { name: 'b', port: 80 },
    ],
    reason: 'RepeatedPort',
    message: /spec\.ports\[1\] repeats TCP 80 of spec\.ports\[0\]/,
  },
];

describe("a Listener's ports", { timeout: 400_000 }, () => {
  const namespace = useNamespace('ports', { inside: { serviceType: 'ClusterIP' }, outside: { serviceType: 'NodePort' } });
  const { cluster } = namespace;
  const className = namespace.className('inside');
  const nodePorts = namespace.className('outside');

  for (const { name, behaviour, ports, exposed, note } of rows) {
    it(behaviour, async () => {
      await namespace.listener(name, { className, ...(ports === undefined ? {} : { ports }) });
      const { status } = await namespace.ready(name);
      const { spec } = await namespace.service(name);
      assert.deepEqual(Object.fromEntries((spec?.ports ?? []).map((port) => [port.name, `${port.port}/${port.protocol}`])), exposed);
      const numbers = Object.fromEntries(Object.entries(exposed).map(([port, text]) => [port, Number.parseInt(text, 10)]));
      assert.deepEqual(status?.ingressAddresses?.[0]?.ports, numbers);
      if (note !== undefined) assert.match((await namespace.condition(name, 'Accepted', 'True', 'AcceptedWithNotes')).message, note);
    });
  }

  for (const { name, behaviour, ports, reason, message } of refused) {
    it(`are refused in the Accepted condition and an event: ${behaviour}`, async () => {
      await namespace.listener(`refused-${name}`, { className, ...(ports === undefined ? {} : { ports }) });
      const accepted = await namespace.condition(`refused-${name}`, 'Accepted', 'False', reason);
      assert.match(accepted.message, message);
      await namespace.condition(`refused-${name}`, 'Ready', 'False', 'NotAccepted');
      await namespace.event({ kind: 'Listener', name: `refused-${name}` }, message);
    });
  }

  it('are those of all containers of the pod for a volume with a class, and each answers from outside', async () => {
    const options = { volumes: { listener: byClass(nodePorts) } };
    const image = await earshotImage(cluster);
    await namespace.create(
      pod('server', {
        ...options,
        spec: {
          containers: [
            container('main', {
              ...options,
              image,
              command: nodeCommand(servers),
              ports: [
                { containerPort: 5353 },
                { name: 'echo', containerPort: 5353, protocol: 'UDP' },
                { containerPort: 7000, protocol: 'UDP' },
              ],
            }),
            container('other', {
              ...options,
              script: SLEEP,
              ports: [
                { name: 'echo', containerPort: 9999 },
                { name: 'a-long-port-nam', containerPort: 9998 },
              ],
            }),
          ],
        },
      }),
    );
    const [server] = await namespace.running('server');
    assert.ok(server);
    const { spec, status } = await namespace.ready('server-listener');
    assert.deepEqual(
      (spec.ports ?? []).map(({ name, port, protocol }) => `${name} ${port}/${protocol}`),
      ['port-5353 5353/TCP', 'port-5353-2 5353/UDP', 'port-7000 7000/UDP', 'echo 9999/TCP', 'a-long-port-nam 9998/TCP'],
    );
    assert.equal(spec.publishNotReadyAddresses, true);

    const [ingress] = status?.ingressAddresses ?? [];
    assert.ok(ingress);
    assert.deepEqual(await namespace.tree('server', 'listener', 'other'), expectedTree([ingress]));
    const { 'port-5353': tcp = 0, 'port-5353-2': udp = 0 } = ingress.ports;
    assert.equal(await echoedFromOutside(ingress.address, udp, 'hello'), 'udp hello');
    assert.equal(await answerFromOutside(cluster, ingress.address, tcp), 'tcp');
    await assertOwnedByVolume(server);
  });

  it('are missing for a volume with a class when the pod has none: the pod waits, and event and condition say for what', async () => {
    await namespace.create(pod('silent', { volumes: { listener: byClass(className) } }));
    await namespace.condition('silent-listener', 'Accepted', 'False', 'NoPorts');
    await namespace.event(
      { kind: 'Pod', name: 'silent' },
      /listener volume waits: Listener .*silent-listener: spec\.ports is empty.*in the ports of the containers/,
    );
  });

  /** The Listener belongs to the volume, so that the address lives as long as that. */
  async function assertOwnedByVolume({ metadata }: RunningPod): Promise<void> {
    const volume = await namespace.volumeOf(`${metadata.name}-listener`);
    const listener = await namespace.ready(`${metadata.name}-listener`);
    assert.deepEqual(
      listener.metadata.ownerReferences?.map(({ kind, uid }) => ({ kind, uid })),
      [{ kind: 'PersistentVolume', uid: volume.metadata.uid }],
    );
  }
});
