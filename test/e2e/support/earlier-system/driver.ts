/** The CSI driver of the stand-in, on the sockets of a node and of the provisioner: what it writes into volumes, and where. */
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Listener, ListenerClass, ListenerIngress } from '../../../../src/api/listeners/index.ts';
import { DRIVER_NAME } from '../../../../src/api/listeners/names.ts';
import { ControllerDefinition, IdentityDefinition, NodeDefinition } from '../../../../src/exposure/csi/generated/csi.ts';
import { RegistrationDefinition } from '../../../../src/exposure/csi/generated/registration.ts';
import { GrpcServer } from '../../../../src/exposure/csi/grpc-server.ts';
import { Status } from '../../../../src/exposure/csi/grpc-status.ts';
import { createIdentityService } from '../../../../src/exposure/csi/identity-service.ts';
import type { PersistentVolume, PersistentVolumeClaim, Pod } from '../../../../src/kube/objects.ts';
import { API } from '../manifests.ts';
import type { EarlierObjects } from './objects.ts';

const CLASS = 'listeners.stackable.tech/listener-class';
const NAME = 'listeners.stackable.tech/listener-name';
const HOSTNAME = 'listeners.stackable.tech/hostname';
/** Each harness node's own path of its kubelet's folder. */
const KUBELET_DIR = '/var/lib/kubelet';
/** ControllerServiceCapability.RPC.Type. */
const CREATE_DELETE_VOLUME = 1;

/** Serves what csi-provisioner asks. The volume gets all of the claim's annotations. */
export async function serveEarlierController(objects: EarlierObjects, socket: string): Promise<Disposable> {
  const server = serverOf();
  server.add(IdentityDefinition, createIdentityService({ version: '0.0.0-earlier', isReady: () => true }));
  server.add(ControllerDefinition, {
    async createVolume({ name, parameters, accessibilityRequirements }) {
      const namespace = parameters.get('csi.storage.k8s.io/pvc/namespace') ?? '';
      const claimName = parameters.get('csi.storage.k8s.io/pvc/name') ?? '';
      const { annotations = {} } = (await objects.get<PersistentVolumeClaim>('v1', 'PersistentVolumeClaim', claimName, namespace)).metadata;
      const className = annotations[CLASS] ?? (await listenerOf(objects, annotations[NAME] ?? '', namespace)).spec.className ?? '';
      const { spec } = await objects.get<ListenerClass>(API, 'ListenerClass', className);
      const isPinned = spec.serviceType === 'NodePort' && spec.pinnedNodePorts === true;
      const accessibleTopology = isPinned ? (accessibilityRequirements?.preferred ?? []).slice(0, 1) : [];
      return { volume: { capacityBytes: 0n, volumeId: name, volumeContext: new Map(Object.entries(annotations)), accessibleTopology } };
    },
    deleteVolume: async () => ({}),
    validateVolumeCapabilities: async () => ({ confirmed: undefined, message: '' }),
    controllerGetCapabilities: async () => ({ capabilities: [{ rpc: { type: CREATE_DELETE_VOLUME } }] }),
  });
  return listen(server, socket);
}

/** Registers with a node's kubelet. Both sockets are files, so they may be served from outside of the node. */
export async function serveEarlierNode(
  objects: EarlierObjects,
  node: { readonly name: string; readonly kubeletDir: string },
): Promise<Disposable> {
  const socket = `plugins/${DRIVER_NAME}/csi.sock`;
  const onHost = (path: string): string => join(node.kubeletDir, path.replace(`${KUBELET_DIR}/`, ''));
  const driver = serverOf();
  driver.add(IdentityDefinition, createIdentityService({ version: '0.0.0-earlier', isReady: () => true }));
  driver.add(NodeDefinition, {
    async nodePublishVolume({ volumeId, targetPath, volumeContext }) {
      await writeTree(onHost(targetPath), await publish(objects, volumeId, volumeContext));
      return {};
    },
    async nodeUnpublishVolume({ targetPath }) {
      await rm(onHost(targetPath), { recursive: true, force: true });
      return {};
    },
    nodeGetCapabilities: async () => ({}),
    nodeGetInfo: async () => ({ nodeId: node.name, accessibleTopology: { segments: new Map([[HOSTNAME, node.name]]) } }),
  });
  const registration = serverOf();
  registration.add(RegistrationDefinition, {
    getInfo: async () => ({ type: 'CSIPlugin', name: DRIVER_NAME, endpoint: `${KUBELET_DIR}/${socket}`, supportedVersions: ['1.0.0'] }),
    notifyRegistrationStatus: async () => ({}),
  });
  const parts = [await listen(driver, onHost(socket)), await listen(registration, onHost(`plugins_registry/${DRIVER_NAME}-reg.sock`))];
  return {
    [Symbol.dispose]() {
      for (const part of parts) part[Symbol.dispose]();
    },
  };
}

function serverOf(): GrpcServer {
  return new GrpcServer((_call, next) => next().catch((error: unknown) => ({ status: Status.UNAVAILABLE, message: String(error) })));
}

async function listen(server: GrpcServer, socket: string): Promise<Disposable> {
  await mkdir(dirname(socket), { recursive: true });
  await rm(socket, { force: true });
  await server.listen(socket);
  return {
    [Symbol.dispose]() {
      void server.close();
      server.cut();
    },
  };
}

function listenerOf(objects: EarlierObjects, name: string, namespace: string): Promise<Listener> {
  return objects.get<Listener>(API, 'Listener', name, namespace);
}

async function publish(
  objects: EarlierObjects,
  volumeId: string,
  context: ReadonlyMap<string, string>,
): Promise<readonly ListenerIngress[]> {
  const namespace = context.get('csi.storage.k8s.io/pod.namespace') ?? '';
  // The volume's id is its object's name: that is how the two find each other.
  const volume = await objects.get<PersistentVolume>('v1', 'PersistentVolume', volumeId);
  const claimName = volume.spec?.claimRef?.name ?? '';
  const claim = await objects.get<PersistentVolumeClaim>('v1', 'PersistentVolumeClaim', claimName, namespace);
  const pod = await objects.get<Pod>('v1', 'Pod', context.get('csi.storage.k8s.io/pod.name') ?? '', namespace);
  const className = context.get(CLASS);
  const mount = { pod, volume, claim };
  const found =
    className === undefined ? await listenerOf(objects, context.get(NAME) ?? '', namespace) : await objects.ofVolume(className, mount);
  await objects.label(found, mount);
  const entry = await objects.entryFor(await objects.reconcile(found), pod);
  if (entry.ingressAddresses.length === 0) throw new Error(`Listener ${found.metadata.name} has no address yet`);
  await objects.publish(pod, claimName, entry);
  return entry.ingressAddresses;
}

/** Plain folders and files, written in place; the link is relative. */
async function writeTree(target: string, addresses: readonly ListenerIngress[]): Promise<void> {
  for (const { address, ports } of addresses) {
    await mkdir(join(target, 'addresses', address, 'ports'), { recursive: true });
    await writeFile(join(target, 'addresses', address, 'address'), address);
    for (const [name, number] of Object.entries(ports)) await writeFile(join(target, 'addresses', address, 'ports', name), String(number));
  }
  await symlink(`addresses/${addresses[0]?.address}`, join(target, 'default-address'));
}
