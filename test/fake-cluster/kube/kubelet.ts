/** A node's kubelet: asks the driver for the volumes of its pods until it has them, and takes them away before a pod goes. */
import { DRIVER_NAME } from '../../../src/api/listeners/names.ts';
import { keyOf } from '../../../src/kube/key.ts';
import type { PersistentVolume, PersistentVolumeClaim, Pod } from '../../../src/kube/objects.ts';
import type { Loop } from '../../simulate/loop.ts';
import { callService } from '../call.ts';
import type { Disk } from '../disk.ts';
import { Looks } from '../looks.ts';
import type { Network } from '../network.ts';
import type { Process } from '../process.ts';
import type { Resources } from '../resources.ts';
import type { Store } from '../store.ts';
import type { RunningPod } from './endpoints.ts';
import { claimNameOf } from './volumes.ts';

export const KUBELET_DIR = '/kubelet';
/** As of the kubelet's csiTimeout; and its pauses after failures, in milliseconds. */
const LIMIT = 120_000;
const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 16_000;

interface Mount {
  /** Key of its pod. */
  readonly pod: string;
  readonly handle: string;
  readonly folder: string;
  /** `uncertain`: it failed, and something may be there. */
  state: 'absent' | 'publishing' | 'uncertain' | 'there' | 'removing';
}

type Method = 'nodePublishVolume' | 'nodeUnpublishVolume';

/** The kubelet runs one operation at a time on a volume, and pauses after a failed one before the next of its kind (nestedpendingoperations.go). */
interface Operations {
  method: Method;
  isRunning: boolean;
  failures: number;
  /** Not before that time. */
  notBefore: number;
}

export interface KubeletParts {
  readonly loop: Loop;
  readonly network: Network;
  readonly store: Store;
  readonly resources: Resources;
  readonly disk: Disk;
  readonly delay: () => number;
  /** The driver, if it is registered. */
  readonly driver: () => Process | undefined;
}

export class Kubelet {
  readonly name: string;
  readonly #parts: KubeletParts;
  readonly #looks: Looks;
  /** By uid of the pod, by name of the volume. */
  readonly #mounts = new Map<string, Map<string, Mount>>();
  /** By volume handle. */
  readonly #operations = new Map<string, Operations>();
  #gone = false;

  constructor(name: string, parts: KubeletParts) {
    this.name = name;
    this.#parts = parts;
    this.#looks = new Looks(parts.loop, parts.delay, (key) => this.#look(key));
    parts.disk.makeFolders(`${KUBELET_DIR}/pods`);
    parts.disk.makeFolders(`${KUBELET_DIR}/plugins_registry`);
    for (const pod of parts.store.all<Pod>('pods')) if (pod.spec?.nodeName === name) this.hear(pod);
  }

  /** Called when a pod changed, or one of its claims. */
  hear(pod: Pod): void {
    this.#looks.ask(keyOf(pod));
  }

  /** A pod that was removed without waiting for its kubelet. */
  lose(pod: Pod): void {
    const mounts = this.#mounts.get(pod.metadata.uid ?? '');
    if (this.#gone || mounts === undefined) return;
    for (const mount of mounts.values()) this.#takeAway(pod, mount);
    if ([...mounts.values()].every(({ state }) => state === 'absent')) this.#end(pod);
    else this.#parts.loop.after(500, undefined, () => this.lose(pod), 'timer');
  }

  /** Its node is no more. */
  stop(): void {
    this.#gone = true;
  }

  static folderOf(podUid: string, handle: string): string {
    return `${KUBELET_DIR}/pods/${podUid}/volumes/kubernetes.io~csi/${handle}`;
  }

  #look(key: string): void {
    const { store } = this.#parts;
    const pod = store.get<Pod>('pods', key);
    if (this.#gone || pod?.spec?.nodeName !== this.name) return;
    const mounts = this.#mountsOf(pod);
    if (mounts === undefined) return;
    const list = [...mounts.values()];
    if (pod.metadata.deletionTimestamp !== undefined) {
      for (const mount of list) this.#takeAway(pod, mount);
      if (list.every(({ state }) => state === 'absent')) this.#end(pod);
      return;
    }
    for (const mount of list) this.#ask(pod, mount);
    if (list.every(({ state }) => state === 'there')) this.#run(pod);
  }

  /** Undefined as long as a claim is not bound. */
  #mountsOf(pod: Pod): Map<string, Mount> | undefined {
    const { store } = this.#parts;
    const uid = pod.metadata.uid ?? '';
    const mounts = this.#mounts.get(uid) ?? new Map<string, Mount>();
    for (const volume of pod.spec?.volumes ?? []) {
      if (mounts.has(volume.name)) continue;
      const claim = store.get<PersistentVolumeClaim>('persistentvolumeclaims', `${pod.metadata.namespace}/${claimNameOf(pod, volume)}`);
      const handle = store.get<PersistentVolume>('persistentvolumes', claim?.spec?.volumeName ?? '')?.spec?.csi?.volumeHandle;
      if (handle === undefined) {
        if (pod.metadata.deletionTimestamp === undefined) return undefined;
        continue;
      }
      mounts.set(volume.name, { pod: keyOf(pod), handle, folder: Kubelet.folderOf(uid, handle), state: 'absent' });
    }
    this.#mounts.set(uid, mounts);
    return mounts;
  }

  #ask(pod: Pod, mount: Mount): void {
    if ((mount.state !== 'absent' && mount.state !== 'uncertain') || !this.#mayRun(mount, 'nodePublishVolume')) return;
    const { disk, store } = this.#parts;
    const { name = '', namespace = '', uid = '' } = pod.metadata;
    const { handle, folder } = mount;
    if (mount.state === 'absent') {
      disk.makeFolders(folder);
      disk.add(`${folder}/vol_data.json`, { kind: 'file', content: JSON.stringify({ driverName: DRIVER_NAME, volumeHandle: handle }) });
    }
    const attributes = store.get<PersistentVolume>('persistentvolumes', handle)?.spec?.csi?.volumeAttributes ?? {};
    const podInfo = { 'pod.name': name, 'pod.namespace': namespace, 'pod.uid': uid, ephemeral: 'false' };
    const context = Object.entries(podInfo).map(([key, value]) => [`csi.storage.k8s.io/${key}`, value] as const);
    mount.state = 'publishing';
    this.#call('nodePublishVolume', pod, mount, {
      volumeId: handle,
      targetPath: `${folder}/mount`,
      volumeCapability: { accessType: { $case: 'mount', value: { fsType: '', mountFlags: [] } }, accessMode: { mode: 1 } },
      readonly: false,
      volumeContext: new Map([...Object.entries(attributes), ...context]),
    });
  }

  #takeAway(pod: Pod, mount: Mount): void {
    if (mount.state === 'absent' || mount.state === 'removing' || mount.state === 'publishing') return;
    if (!this.#mayRun(mount, 'nodeUnpublishVolume')) return;
    mount.state = 'removing';
    this.#call('nodeUnpublishVolume', pod, mount, { volumeId: mount.handle, targetPath: `${mount.folder}/mount` });
  }

  #mayRun({ handle }: Mount, method: Method): boolean {
    const operations = this.#operations.get(handle);
    if (operations === undefined) return true;
    return !operations.isRunning && (operations.method !== method || this.#parts.loop.now >= operations.notBefore);
  }

  #call(method: Method, pod: Pod, mount: Mount, request: unknown): void {
    const process = this.#parts.driver();
    const { state, handle } = mount;
    const before = this.#operations.get(handle);
    const failures = before?.method === method ? before.failures : 0;
    const operations: Operations = { method, isRunning: true, failures, notBefore: 0 };
    this.#operations.set(handle, operations);
    callService(this.#parts, { process, service: 'csi.v1.Node', method }, { request, limit: LIMIT }, (error) => {
      operations.isRunning = false;
      if (this.#gone) return;
      if (error === undefined) {
        this.#operations.delete(handle);
        mount.state = state === 'publishing' ? 'there' : 'absent';
      } else {
        mount.state = 'uncertain';
        const pause = Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** operations.failures);
        operations.failures += 1;
        operations.notBefore = this.#parts.loop.now + pause;
        // A look that is asked for already may come before the pause is over.
        this.#parts.loop.after(pause, undefined, () => this.#askAll(handle, 0), 'timer');
      }
      this.#looks.ask(keyOf(pod));
      this.#askAll(handle);
    });
  }

  /** All pods that mount the volume here. */
  #askAll(handle: string, pause?: number): void {
    for (const mounts of this.#mounts.values()) {
      for (const mount of mounts.values()) if (mount.handle === handle) this.#looks.ask(mount.pod, pause);
    }
  }

  #run(pod: Pod): void {
    const podIP = `10.244.0.${1 + (this.#mounts.size % 250)}`;
    this.#parts.resources.change<RunningPod>(
      'pods',
      keyOf(pod),
      (before) => (before.status?.podIP === undefined ? { ...before, status: { phase: 'Running', podIP, ready: true } } : before),
      'status',
    );
  }

  #end({ metadata }: Pod): void {
    const { store, disk } = this.#parts;
    const uid = metadata.uid ?? '';
    this.#mounts.delete(uid);
    if (disk.find(`${KUBELET_DIR}/pods/${uid}`) !== undefined) disk.remove(`${KUBELET_DIR}/pods/${uid}`);
    if (store.get('pods', `${metadata.namespace}/${metadata.name}`)?.metadata.uid === uid)
      store.remove('pods', `${metadata.namespace}/${metadata.name}`);
  }
}
