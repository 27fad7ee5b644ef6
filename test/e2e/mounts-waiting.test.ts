import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { PodListeners } from '../../src/api/listeners/index.ts';
import type { KubeObject } from '../../src/kube/objects.ts';
import { API, byClass, byListener, claim, pod, type ClaimAnnotations, type Manifest } from './support/manifests.ts';
import { openNamespace, useNamespace } from './support/namespace.ts';
import { expectedTree } from './support/tree.ts';

const PORTS = [{ name: 'http', port: 8080 }];
const CONTAINER_PORTS = [{ name: 'http', containerPort: 8080 }];

/** What a claim waits for is noticed at once, so this is a slow start of a pod. */
const SOON = 40_000;
/** On a new cluster kube-controller-manager looks for kinds that it does not count yet every 30 seconds. */
const QUOTA_MS = 150_000;

interface Quota extends KubeObject {
  readonly status?: { readonly used?: object };
}

describe('a listener volume that cannot be mounted yet', { timeout: 400_000, concurrency: 4 }, () => {
  const namespace = useNamespace('waiting');
  const { cluster } = namespace;

  it('names the class that is missing in an event on the claim, and is mounted soon after it appears', async () => {
    const className = namespace.className('later');
    await namespace.create(pod('no-class', { volumes: { listener: byClass(className) }, ports: CONTAINER_PORTS }));
    await namespace.event(
      { kind: 'PersistentVolumeClaim', name: 'no-class-listener' },
      new RegExp(`ListenerClass ${className}, which the annotation .*listener-class of the claim names, does not exist\\. Create it`),
    );
    await namespace.class('later', { serviceType: 'ClusterIP' });
    await assertRunsSoon('no-class', 'no-class-listener');
  });

  it('names the Listener that is missing in an event on the claim, and is mounted soon after it appears', async () => {
    const className = await namespace.class('present', { serviceType: 'ClusterIP' });
    await namespace.create(claim('no-listener', byListener('appears')), pod('no-listener', { volumes: { listener: 'no-listener' } }));
    await namespace.event(
      { kind: 'PersistentVolumeClaim', name: 'no-listener' },
      new RegExp(`Listener ${namespace.name}/appears does not exist`),
    );
    await namespace.listener('appears', { className, ports: PORTS });
    await assertRunsSoon('no-listener', 'appears');
  });

  it('of a claim that names nothing to expose says so in an event, and is mounted soon after it does', async () => {
    const className = await namespace.class('said', { serviceType: 'ClusterIP' });
    await namespace.create(claim('unsaid', {}), pod('unsaid', { volumes: { listener: 'unsaid' }, ports: CONTAINER_PORTS }));
    await namespace.event({ kind: 'PersistentVolumeClaim', name: 'unsaid' }, /unsaid names nothing to expose: give it .* the annotation/);
    await namespace.patch('v1', 'PersistentVolumeClaim', 'unsaid', { metadata: { annotations: byClass(className) } });
    await assertRunsSoon('unsaid', 'unsaid');
  });

  it('of a pod whose spec.nodeName was set, which the scheduler does not see, is mounted all the same', async () => {
    const className = await namespace.class('preset', { serviceType: 'NodePort' });
    const nodeName = cluster.nodes[1]?.name ?? '';
    await namespace.create(pod('preset', { volumes: { listener: byClass(className) }, ports: CONTAINER_PORTS, spec: { nodeName } }));
    await assertRunsSoon('preset', 'preset-listener');
  });

  it('reports errors of the annotations of its claim on the pod too, and what was meant', async () => {
    const className = await namespace.class('typo', { serviceType: 'ClusterIP' });
    const annotations: ClaimAnnotations = { 'listeners.stackable.tech/listenerclass': className };
    await namespace.create(claim('typo', annotations), pod('typo', { volumes: { listener: 'typo' }, ports: CONTAINER_PORTS }));
    await namespace.event(
      { kind: 'Pod', name: 'typo' },
      /listenerclass has no effect; did you mean listeners\.stackable\.tech\/listener-class\?/,
    );
  });

  it('names the class that the Listener misses in an event, and is mounted soon after it appears', async () => {
    const className = namespace.className('even-later');
    await namespace.listener('half', { className, ports: PORTS });
    await namespace.create(claim('half', byListener('half')), pod('half', { volumes: { listener: 'half' } }));
    await namespace.event({ kind: 'PersistentVolumeClaim', name: 'half' }, new RegExp(`ListenerClass ${className}.* does not exist`));
    const { message } = await namespace.condition('half', 'Accepted', 'False', 'ClassNotFound');
    assert.match(message, new RegExp(`ListenerClass ${className} does not exist. Create it, or name another one`));
    await namespace.class('even-later', { serviceType: 'ClusterIP' });
    await assertRunsSoon('half', 'half');
  });

  it('of a bound claim names the Listener that is gone in an event on the pod, and is mounted when it comes back', async () => {
    const className = await namespace.exposed('gone', { serviceType: 'ClusterIP' });
    await namespace.create(claim('gone', byListener('gone')), pod('binder', { volumes: { listener: 'gone' } }));
    await namespace.running('binder');
    await namespace.remove(API, 'Listener', 'gone');
    await namespace.create(pod('gone', { volumes: { listener: 'gone' } }));
    await namespace.event(
      { kind: 'Pod', name: 'gone' },
      new RegExp(`The listener volume waits: Listener ${namespace.name}/gone does not exist\\. Create it`),
    );
    await namespace.listener('gone', { className, ports: PORTS });
    await assertRunsSoon('gone', 'gone');
    // The pod that held on to the volume is selected by the new Listener too.
    const { metadata } = await namespace.ready('gone');
    const label = `listener.stackable.tech/mnt.${metadata.uid?.replaceAll('-', '')}`;
    await namespace.until(
      { apiVersion: 'v1', kind: 'Pod', name: 'binder' },
      'to bear the label of the new Listener',
      (object) => object.metadata.labels?.[label] === 'gone',
    );
  });

  it('whose Listener would take the name of one that is there says so in an event, and leaves that alone', async () => {
    const className = await namespace.class('taken', { serviceType: 'ClusterIP' });
    const theirs = await namespace.listener('taken-listener', { className, ports: [{ name: 'theirs', port: 1 }] });
    await namespace.ready('taken-listener');
    await namespace.create(pod('taken', { volumes: { listener: byClass(className) }, ports: CONTAINER_PORTS }));
    await namespace.event(
      { kind: 'Pod', name: 'taken' },
      /taken-listener exists and was not created for this volume\. Rename the claim, or mount that Listener with the annotation/,
    );
    const { metadata, spec } = await namespace.ready('taken-listener');
    assert.equal(metadata.generation, theirs.metadata.generation);
    assert.equal(metadata.ownerReferences, undefined);
    assert.deepEqual(spec.ports, [{ name: 'theirs', port: 1 }]);
  });

  it('whose claim has too long a name for a Service says so in an event', async () => {
    const className = await namespace.class('long', { serviceType: 'ClusterIP' });
    const name = `long-${'n'.repeat(60)}`;
    await namespace.create(claim(name, byClass(className)), pod('long', { volumes: { listener: name }, ports: CONTAINER_PORTS }));
    await namespace.event(
      { kind: 'Pod', name: 'long' },
      /listener volume waits: .*allows them 63 characters; this one has 65\. Use a shorter name\. A volume's Listener has the name of its claim, and an ephemeral claim is named POD-VOLUME/,
    );
    assert.equal(await namespace.get(API, 'Listener', name), undefined);
  });

  it('reports a refusal of the API server (a quota) in an event, does not delay others, and is mounted in the end', async () => {
    await using tight = await openNamespace(cluster, 'quota');
    const className = await tight.class('quota', { serviceType: 'ClusterIP' });
    await tight.listener('present', { className, ports: PORTS });
    await tight.create({
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: 'none' },
      spec: { hard: { 'count/listeners.listeners.stackable.tech': '0' } },
    });
    await tight.until<Quota>(
      { apiVersion: 'v1', kind: 'ResourceQuota', name: 'none' },
      'to be in force',
      ({ status }) => status?.used !== undefined,
      QUOTA_MS,
    );
    const volumes = { refused: byClass(className), allowed: byListener('present') };
    await tight.create(pod('limited', { volumes, ports: CONTAINER_PORTS }));
    await tight.event(
      { kind: 'Pod', name: 'limited' },
      /listener volume waits: The API server refuses an object that this volume needs: .*exceeded quota: none/,
    );
    const { metadata } = await tight.podListeners('limited');
    // The node may ask for one volume a moment after the other.
    await tight.until<PodListeners>(
      { apiVersion: API, kind: 'PodListeners', name: metadata.name ?? '' },
      'to hold the volume that is allowed, and no other',
      ({ spec }) => Object.keys(spec.listeners).join() === 'allowed',
    );
    await tight.remove('v1', 'ResourceQuota', 'none');
    await tight.running('limited');
  });

  async function assertRunsSoon(name: string, listener: string): Promise<void> {
    const from = performance.now();
    await namespace.running(name);
    const took = performance.now() - from;
    assert.ok(took < SOON, `it took ${took} ms`);
    const { status } = await namespace.ready(listener);
    assert.deepEqual(await namespace.tree(name, 'listener'), expectedTree(status?.ingressAddresses ?? []));
  }
});

describe('a claim that can never be a listener volume', { timeout: 400_000 }, () => {
  const namespace = useNamespace('claims');
  const claims: readonly { readonly name: string; readonly annotations: ClaimAnnotations; readonly message: RegExp }[] = [
    {
      name: 'neither',
      annotations: {},
      message: /names nothing to expose: give it .*the annotation .*\/listener-class .*or .*\/listener-name/,
    },
    { name: 'both', annotations: { ...byClass('a'), ...byListener('b') }, message: /has both annotations, .* remove one of them/ },
    { name: 'path', annotations: byListener('../x'), message: /listener-name.*"\.\.\/x"/ },
    { name: 'path-class', annotations: byClass('../../api/v1/secrets'), message: /listener-class.*"\.\.\/\.\.\/api\/v1\/secrets"/ },
    { name: 'capitals', annotations: byListener('Kafka'), message: /listener-name.*"Kafka"/ },
    { name: 'empty', annotations: byListener(''), message: /listener-name/ },
    { name: 'long', annotations: byListener('n'.repeat(253)), message: /Listener .*\/n{253} does not exist/ },
    { name: 'longer', annotations: byListener('n'.repeat(300)), message: /listener-name is "n{79}…", which is not the name of an object/ },
    { name: 'control', annotations: byListener('a\nb'), message: /listener-name.*"a\\nb"/ },
  ];

  before(async () => {
    // One pod for all: the scheduler has every claim of a pod provisioned.
    await namespace.create(
      ...claims.map(({ name, annotations }) => claim(name, annotations)),
      pod('never', { volumes: Object.fromEntries(claims.map(({ name }) => [name, name])) }),
    );
  });

  for (const { name, message } of claims) {
    it(`says in an event on it what is wrong: ${name}`, async () => {
      const event = await namespace.event({ kind: 'PersistentVolumeClaim', name }, message);
      assert.equal(event.type, 'Warning');
      assert.doesNotMatch(event.message, /\n/);
      assert.equal((await namespace.claim(name)).status?.phase, 'Pending');
    });
  }

  it('says so of a block device', async () => {
    await namespace.create(
      claim('block', byClass('any'), { volumeMode: 'Block' }),
      pod('block', {
        container: { volumeDevices: [{ name: 'device', devicePath: '/dev/listener' }] },
        spec: { volumes: [{ name: 'device', persistentVolumeClaim: { claimName: 'block' } }] },
      }),
    );
    await namespace.event({ kind: 'PersistentVolumeClaim', name: 'block' }, /folder of files: set volumeMode: Filesystem/);
  });

  it('is refused at once where it is no claim at all but volumes[].csi, with what to write instead', async () => {
    const inline: Manifest = pod('inline', { spec: { volumes: [{ name: 'listener', csi: { driver: 'listeners.stackable.tech' } }] } });
    await assert.rejects(
      namespace.create(inline),
      /volumes \[listener\] name the driver listeners\.stackable\.tech inline.*Use volumes\[\]\.ephemeral\.volumeClaimTemplate/,
    );
  });
});
