/** Objects of operators of products, and how they and their pods read them afterwards. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Structural } from '../../../src/api/crd.ts';
import { listenerClasses, listeners, podListeners } from '../../../src/api/listeners/index.ts';
import { podListenersName } from '../../../src/api/listeners/names.ts';
import { treeOf } from '../../../src/exposure/csi/tree.ts';
import { presetClasses } from '../../../src/exposure/presets.ts';
import { nodes, persistentVolumeClaims, persistentVolumes, pods, services } from '../../../src/kube/resource.ts';
import { earlierDefinitions } from '../api/earlier-definitions.ts';
import { rootOf } from '../api/nodes.ts';
import { aNode } from './listeners/fixtures.ts';
import { claimOf, productRoles, recommendedLabels, type ProductRole, type ProductVolume } from './product-manifests.ts';
import { PlayedApi } from './support/played-api.ts';
import { playController } from './support/played-controller.ts';

const NAMESPACE = 'shop';
const NODE = 'n1';
const POD = 'pod-0';

for (const role of productRoles) {
  describe(`${role.product}, ${role.role}`, () => {
    it('finds in its volumes the files that its scripts read', async () => {
      const { told } = await exposed(role);
      for (const [volume, ports] of Object.entries(role.reads)) {
        const tree = treeOf(told[volume] ?? {}) ?? assert.fail(`${volume} has no address`);
        const shown = tree.addresses.get(tree.primary) ?? assert.fail();
        for (const port of ports) assert.ok((shown.get(port) ?? 0) > 0, `default-address/ports/${port} of ${volume}`);
        // A script reads every file: `export $(basename FILE | tr a-z- A-Z_)_PORT=…`.
        for (const name of shown.keys()) assert.match(name.toUpperCase().replaceAll('-', '_'), /^[A-Z_][A-Z0-9_]*$/);
      }
    });

    it('has objects that a reader of the fields as they were understands', async () => {
      const { api, told } = await exposed(role);
      const [, listenerSchema, podListenersSchema] = earlierDefinitions().map(rootOf);
      for (const name of listenersOf(role)) {
        const listener = api.read(listeners, `${NAMESPACE}/${name}`) ?? assert.fail(`there is no Listener ${name}`);
        assert.deepEqual(misread(listenerSchema, listener), []);
        assert.deepEqual([typeof listener.status?.serviceName, Array.isArray(listener.status?.ingressAddresses)], ['string', true]);
      }
      assert.deepEqual(misread(podListenersSchema, { spec: { listeners: told } }), []);
      // An issuer of certificates reads all of them, and needs an address of each, for any kind of request.
      assert.deepEqual(Object.keys(told).toSorted(), role.volumes.map(({ name }) => name).toSorted());
      for (const { ingressAddresses } of Object.values(told)) assert.ok((ingressAddresses ?? []).length > 0);
    });

    it('has Services that those of its product are not taken for', async () => {
      const { api } = await exposed(role);
      for (const name of listenersOf(role)) {
        const { metadata, spec } = api.read(services, `${NAMESPACE}/${name}`) ?? assert.fail(`there is no Service ${name}`);
        const shared = role.listener?.metadata.name === name;
        const own = recommendedLabels(role.product, role.role);
        for (const key of ['name', 'instance', 'managed-by'].map((each) => `app.kubernetes.io/${each}`))
          assert.notEqual(metadata.labels?.[key], own[key]);
        assert.equal(metadata.labels?.['stackable.tech/vendor'], own['stackable.tech/vendor']);
        // Pods are reached before they are ready by their own address, and not by the one that they share.
        assert.equal(spec?.publishNotReadyAddresses, !shared);
      }
    });
  });
}

it('such a reader would stumble over a field that is missing, or of another kind, and over nothing that is new', () => {
  const schema = rootOf(earlierDefinitions()[1] ?? assert.fail());
  const statusOf = (address: object): object => ({ spec: {}, status: { ingressAddresses: [address], conditions: [] } });
  const whole = { address: 'a', addressType: 'IP', ports: { http: 80 } };
  assert.deepEqual(misread(schema, statusOf({ ...whole, more: true })), []);
  const { addressType: _, ...untyped } = whole;
  assert.deepEqual(misread(schema, statusOf(untyped)), ['.status.ingressAddresses[0].addressType is missing']);
  assert.deepEqual(misread(schema, statusOf({ ...whole, ports: { http: '80' } })), ['.status.ingressAddresses[0].ports.http is no int32']);
});

/** The Listeners by name: the one that the role shares, and those of the volumes by class. */
function listenersOf(role: ProductRole): readonly string[] {
  const own = role.volumes.filter(({ annotations }) => 'listeners.stackable.tech/listener-class' in annotations);
  return [...(role.listener === undefined ? [] : [role.listener.metadata.name ?? '']), ...own.map((volume) => claimNameOf(volume))];
}

function claimNameOf({ name, kind }: ProductVolume): string {
  return kind === 'ephemeral' ? `${POD}-${name}` : `${name}-${POD}`;
}

/** One pod of the role on a node, its volumes asked for, and everything done that the controller does. */
async function exposed(role: ProductRole) {
  const api = new PlayedApi();
  for (const of of presetClasses('stable-nodes')) api.put(listenerClasses, of);
  api.put(nodes, aNode(NODE, [{ type: 'InternalIP', address: '192.168.0.1' }]));
  if (role.listener !== undefined) api.put(listeners, { ...role.listener, metadata: { ...role.listener.metadata, namespace: NAMESPACE } });
  const volumes = role.volumes.map((volume) => ({
    name: volume.name,
    ...(volume.kind === 'ephemeral' ? { ephemeral: {} } : { persistentVolumeClaim: { claimName: claimNameOf(volume) } }),
  }));
  const metadata = { name: POD, namespace: NAMESPACE, uid: 'uid-of-pod' };
  api.put(pods, { metadata, spec: { nodeName: NODE, containers: role.containers, volumes } });
  for (const volume of role.volumes) mountable(api, role, volume);
  const request = { name: podListenersName(metadata.uid), namespace: NAMESPACE };
  api.put(podListeners, {
    metadata: { ...request, ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: POD, uid: metadata.uid }] },
    spec: { nodeName: NODE, listeners: {}, mounts: Object.fromEntries(role.volumes.map(({ name }) => [`pvc-${name}`, {}])) },
  });
  await using controller = await playController(api);
  await controller.settle();
  return { api, told: api.read(podListeners, `${NAMESPACE}/${request.name}`)?.spec.listeners ?? {} };
}

function mountable(api: PlayedApi, role: ProductRole, volume: ProductVolume): void {
  const claimName = claimNameOf(volume);
  const uid = `uid-of-${claimName}`;
  const { metadata } = claimOf(role, volume);
  const owner = { apiVersion: 'v1', kind: 'Pod', name: POD, uid: 'uid-of-pod', controller: true };
  const ownerReferences = volume.kind === 'ephemeral' ? [owner] : [];
  api.put(persistentVolumeClaims, { metadata: { ...metadata, name: claimName, namespace: NAMESPACE, uid, ownerReferences } });
  const handle = `pvc-${volume.name}`;
  const csi = { driver: 'listeners.stackable.tech', volumeHandle: handle, volumeAttributes: volume.annotations };
  api.put(persistentVolumes, { metadata: { name: handle }, spec: { csi, claimRef: { namespace: NAMESPACE, name: claimName, uid } } });
}

/**
 * What a program stumbles over that knows the fields of this schema, demands those that are required and of the right type, and passes over
 * all others, as typed clients do.
 */
function misread(schema: Structural | undefined, value: unknown, path = ''): readonly string[] {
  if (schema === undefined || (value === null && schema.nullable === true)) return [];
  const { type, properties = {}, required = [], items, additionalProperties } = schema;
  if (type === 'array')
    return Array.isArray(value) ? value.flatMap((item, index) => misread(items, item, `${path}[${index}]`)) : [`${path} is no list`];
  if (type === 'integer') return Number.isInteger(value) && Math.abs(Number(value)) < 2 ** 31 ? [] : [`${path} is no int32`];
  if (type !== 'object') {
    const isOne = typeof value === type && (schema.enum === undefined || schema.enum.includes(String(value)));
    return isOne ? [] : [`${path} is ${JSON.stringify(value)}`];
  }
  if (typeof value !== 'object' || value === null) return [`${path} is no object`];
  const missing = required.filter((field) => !Object.hasOwn(value, field)).map((field) => `${path}.${field} is missing`);
  const inner = Object.entries(value).flatMap(([field, each]) => {
    const of = properties[field] ?? (typeof additionalProperties === 'object' ? additionalProperties : undefined);
    return misread(of, each, `${path}.${field}`);
  });
  return [...missing, ...inner];
}
