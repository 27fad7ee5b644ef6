/**
 * A driver as an orchestrator has it: what external-provisioner and the kubelet do around each call, done by a proxy in
 * front of the real services. The conformance suite speaks bare CSI and knows neither claims nor pods.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, rmdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ClientError, createChannel, createClient, createServer, ServerError, type Client } from 'nice-grpc';
import { DRIVER_NAME } from '../../../src/api/listeners/names.ts';
import {
  ControllerDefinition,
  IdentityDefinition,
  NodeDefinition,
  type CreateVolumeRequest,
  type NodePublishVolumeRequest,
  type Volume,
} from '../../../src/exposure/csi/generated/csi.ts';
import type { PersistentVolume, PersistentVolumeClaim, Pod } from '../../../src/kube/objects.ts';
import { byClass, claim, SLEEP, STORAGE_CLASS } from './manifests.ts';
import type { Namespace } from './namespace.ts';

export interface OrchestratorOptions {
  readonly namespace: Namespace;
  /** Class of the claims that it makes. */
  readonly className: string;
  readonly nodeName: string;
  readonly kubeletDir: string;
  /** Sockets of the services behind it, and its own. */
  readonly controller: string;
  readonly node: string;
  readonly socket: string;
}

/** Serves on `socket` until it is disposed of. */
export async function startOrchestrator(options: OrchestratorOptions): Promise<AsyncDisposable> {
  const channels = [options.controller, options.node].map((path) =>
    createChannel(`unix://${path}`, undefined, { 'grpc.default_authority': 'localhost' }),
  );
  const [toController, toNode] = channels;
  if (toController === undefined || toNode === undefined) throw new TypeError('two channels were made');
  const identity = createClient(IdentityDefinition, toNode);
  const provisioner = new Provisioner(options, createClient(ControllerDefinition, toController));
  const kubelet = new Kubelet(options, createClient(NodeDefinition, toNode), provisioner);
  const controller = createClient(ControllerDefinition, toController);
  const node = createClient(NodeDefinition, toNode);
  const server = createServer();
  server.add(IdentityDefinition, {
    getPluginInfo: (request) => passOn(identity.getPluginInfo(request)),
    getPluginCapabilities: (request) => passOn(identity.getPluginCapabilities(request)),
    probe: (request) => passOn(identity.probe(request)),
  });
  server.add(ControllerDefinition, {
    createVolume: (request) => passOn(provisioner.create(request)),
    deleteVolume: (request) => passOn(provisioner.delete(request.volumeId)),
    validateVolumeCapabilities: (request) => passOn(controller.validateVolumeCapabilities(request)),
    controllerGetCapabilities: (request) => passOn(controller.controllerGetCapabilities(request)),
  });
  server.add(NodeDefinition, {
    nodePublishVolume: (request) => passOn(kubelet.publish(request)),
    nodeUnpublishVolume: (request) => passOn(kubelet.unpublish(request)),
    nodeGetCapabilities: (request) => passOn(node.nodeGetCapabilities(request)),
    nodeGetInfo: (request) => passOn(node.nodeGetInfo(request)),
  });
  await server.listen(`unix:${options.socket}`);
  return {
    async [Symbol.asyncDispose]() {
      server.forceShutdown();
      for (const channel of channels) channel.close();
    },
  };
}

async function passOn<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    throw error instanceof ClientError ? new ServerError(error.code, error.details) : error;
  }
}

/** Objects need names that are shorter than those of the suite's volumes, and in lower case. */
function objectNameOf(volume: string): string {
  return `v-${createHash('sha256').update(volume).digest('hex').slice(0, 12)}`;
}

/** Acts as external-provisioner: a claim comes first, a PersistentVolume afterwards. */
class Provisioner {
  readonly #options: OrchestratorOptions;
  readonly #controller: Client<typeof ControllerDefinition>;
  readonly #volumes = new Set<string>();

  constructor(options: OrchestratorOptions, controller: Client<typeof ControllerDefinition>) {
    this.#options = options;
    this.#controller = controller;
  }

  has(volume: string): boolean {
    return this.#volumes.has(volume);
  }

  async create(request: CreateVolumeRequest) {
    const { namespace, className } = this.#options;
    const { name } = request;
    if (name === '') return this.#controller.createVolume(request);
    const claimName = objectNameOf(name);
    if (!this.#volumes.has(name)) await namespace.create(claim(claimName, byClass(className)));
    this.#volumes.add(name);
    const parameters = new Map([
      ['csi.storage.k8s.io/pvc/name', claimName],
      ['csi.storage.k8s.io/pvc/namespace', namespace.name],
    ]);
    const answer = await this.#controller.createVolume({ ...request, parameters });
    const created = await namespace.get<PersistentVolumeClaim>('v1', 'PersistentVolumeClaim', claimName);
    if (created !== undefined && answer.volume !== undefined && created.spec?.volumeName === undefined)
      await this.#bind(created, answer.volume);
    return answer;
  }

  async #bind(created: PersistentVolumeClaim, volume: Volume): Promise<void> {
    const { namespace } = this.#options;
    const name = created.metadata.name ?? '';
    if ((await namespace.get<PersistentVolume>('v1', 'PersistentVolume', name)) === undefined) {
      const claimRef = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace: namespace.name, name, uid: created.metadata.uid };
      await namespace.create({
        apiVersion: 'v1',
        kind: 'PersistentVolume',
        metadata: { name },
        spec: {
          capacity: { storage: '1' },
          accessModes: ['ReadWriteMany'],
          persistentVolumeReclaimPolicy: 'Retain',
          storageClassName: STORAGE_CLASS,
          csi: { driver: DRIVER_NAME, volumeHandle: volume.volumeId, volumeAttributes: Object.fromEntries(volume.volumeContext) },
          claimRef,
        },
      });
    }
    await namespace.until<PersistentVolumeClaim>(
      { apiVersion: 'v1', kind: 'PersistentVolumeClaim', name },
      'to be bound',
      ({ status }) => status?.phase === 'Bound',
    );
  }

  async delete(volumeId: string): Promise<object> {
    const answer = await this.#controller.deleteVolume({ volumeId });
    if (this.#volumes.delete(volumeId)) {
      await this.#options.namespace.remove('v1', 'PersistentVolumeClaim', objectNameOf(volumeId));
      await this.#options.namespace.remove('v1', 'PersistentVolume', objectNameOf(volumeId));
    }
    return answer;
  }
}

interface Mounted {
  readonly pod: Pod;
  /** The kubelet's path of the volume; the suite finds a link to it at its own target. */
  readonly path: string;
}

/** Acts as the kubelet: a pod on its node, its folders, and the pod's identity in the volume context. */
class Kubelet {
  readonly #options: OrchestratorOptions;
  readonly #node: Client<typeof NodeDefinition>;
  readonly #provisioner: Provisioner;
  readonly #mounted = new Map<string, Mounted>();

  constructor(options: OrchestratorOptions, node: Client<typeof NodeDefinition>, provisioner: Provisioner) {
    this.#options = options;
    this.#node = node;
    this.#provisioner = provisioner;
  }

  async publish(request: NodePublishVolumeRequest) {
    const { volumeId, targetPath, volumeContext } = request;
    if (!this.#provisioner.has(volumeId) || targetPath === '') return this.#node.nodePublishVolume(request);
    const mounted = this.#mounted.get(targetPath) ?? (await this.#prepare(volumeId));
    this.#mounted.set(targetPath, mounted);
    const { name = '', namespace = '', uid = '' } = mounted.pod.metadata;
    const podInfo: readonly (readonly [string, string])[] = [
      ['csi.storage.k8s.io/pod.name', name],
      ['csi.storage.k8s.io/pod.namespace', namespace],
      ['csi.storage.k8s.io/pod.uid', uid],
      ['csi.storage.k8s.io/serviceAccount.name', 'default'],
      ['csi.storage.k8s.io/ephemeral', 'false'],
    ];
    const answer = await this.#node.nodePublishVolume({
      ...request,
      targetPath: mounted.path,
      volumeContext: new Map([...volumeContext, ...podInfo]),
    });
    if (!existsSync(targetPath)) symlinkSync(mounted.path, targetPath);
    return answer;
  }

  async #prepare(volumeId: string): Promise<Mounted> {
    const { namespace, nodeName } = this.#options;
    const claimName = objectNameOf(volumeId);
    const pod = await namespace.create<Pod>({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { generateName: 'mounts-' },
      spec: {
        nodeName,
        containers: [{ name: 'main', image: 'none', command: ['sh', '-c', SLEEP], ports: [{ name: 'http', containerPort: 8080 }] }],
        volumes: [{ name: 'address', persistentVolumeClaim: { claimName } }],
      },
    });
    const path = this.#pathOf(pod.metadata.uid ?? '', claimName);
    const folder = dirname(path);
    mkdirSync(folder, { recursive: true });
    writeFileSync(
      join(folder, 'vol_data.json'),
      JSON.stringify({ driverName: DRIVER_NAME, volumeHandle: volumeId, specVolID: claimName, nodeName }),
    );
    return { pod, path };
  }

  #pathOf(podUid: string, volume: string): string {
    return join(this.#options.kubeletDir, 'pods', podUid, 'volumes/kubernetes.io~csi', volume, 'mount');
  }

  async unpublish({ volumeId, targetPath }: { readonly volumeId: string; readonly targetPath: string }) {
    const mounted = this.#mounted.get(targetPath);
    if (volumeId === '' || targetPath === '') return this.#node.nodeUnpublishVolume({ volumeId, targetPath });
    if (mounted === undefined) {
      // Cleaning up what was never mounted: the kubelet asks for that too, in folders that are gone.
      return this.#node.nodeUnpublishVolume({ volumeId, targetPath: this.#pathOf('no-such-pod', objectNameOf(volumeId)) });
    }
    const answer = await this.#node.nodeUnpublishVolume({ volumeId, targetPath: mounted.path });
    // Only what the driver has removed is gone for the suite.
    if (!existsSync(mounted.path)) rmSync(targetPath, { force: true });
    const folder = dirname(mounted.path);
    rmSync(join(folder, 'vol_data.json'), { force: true });
    // As the kubelet: fails where anything is left.
    if (existsSync(folder)) rmdirSync(folder);
    const path = `/api/v1/namespaces/${this.#options.namespace.name}/pods/${mounted.pod.metadata.name}?gracePeriodSeconds=0`;
    await this.#options.namespace.cluster.api.remove(path);
    this.#mounted.delete(targetPath);
    return answer;
  }
}
