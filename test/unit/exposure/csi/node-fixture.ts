/** The node driver on real sockets, below a kubelet's folder of the test's own, with an API server in memory. */
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createChannel, createClient, type Client } from 'nice-grpc';
import { ClientError, Status } from 'nice-grpc-common';
import { podListeners, type ListenerIngress, type PodListeners } from '../../../../src/api/listeners/index.ts';
import { DRIVER_NAME } from '../../../../src/api/listeners/names.ts';
import { IdentityDefinition, NodeDefinition, type NodePublishVolumeRequest } from '../../../../src/exposure/csi/generated/csi.ts';
import { RegistrationDefinition } from '../../../../src/exposure/csi/generated/registration.ts';
import { runCsiNode, type CsiNodeOptions } from '../../../../src/exposure/csi/run-node.ts';
import { eventually } from '../../../harness/wait.ts';
import { createLogger } from '../../../../src/telemetry/log.ts';
import { FakeApi } from './fake-api.ts';
import { FakeCache } from './fake-cache.ts';
import { temporaryFolder } from './volume-folder.ts';

export const NODE_NAME = 'worker-1';
export const POD_UID = '0f1e2d3c-0000-4000-8000-000000000001';
export const POD_KEY = `default/pod-${POD_UID}`;

/** Parts that outlive a driver: the node's disk and the API server. */
export class NodeFixture implements Disposable {
  readonly #folder = temporaryFolder();
  readonly kubeletDir = join(this.#folder.path, 'k');
  readonly api = new FakeApi();
  readonly cache: FakeCache<PodListeners>;

  constructor(isSynced = true) {
    this.cache = new FakeCache<PodListeners>();
    if (isSynced) this.cache.sync();
    for (const name of ['pods', 'plugins_registry']) mkdirSync(join(this.kubeletDir, name), { recursive: true });
    this.api.watch(podListeners, (object) => this.cache.set(object));
  }

  [Symbol.dispose](): void {
    this.#folder[Symbol.dispose]();
  }

  /** The target of a volume, in a folder as the kubelet makes it. */
  target(volume = 'pvc-1', podUid = POD_UID): string {
    const folder = join(this.kubeletDir, 'pods', podUid, 'volumes/kubernetes.io~csi', volume);
    mkdirSync(folder, { recursive: true });
    return join(folder, 'mount');
  }

  request(changes: Partial<NodePublishVolumeRequest> = {}, volume = 'pvc-1', podUid = POD_UID): NodePublishVolumeRequest {
    return {
      volumeId: volume,
      targetPath: this.target(volume, podUid),
      volumeCapability: { accessType: { $case: 'mount', value: { fsType: '', mountFlags: [] } }, accessMode: { mode: 1 } },
      readonly: false,
      volumeContext: podContext(),
      ...changes,
    };
  }

  /** Plays the controller: gives each mount that is asked for its addresses, at once and for as long as the test runs. */
  answerWith(addresses: (handle: string) => readonly ListenerIngress[]): void {
    this.cache.onChange(({ type, object }) => {
      const handles = Object.keys(object.spec.mounts ?? {}).filter((handle) => !(handle in object.spec.listeners));
      if (type === 'deleted' || handles.length === 0) return;
      const entries = handles.map((handle) => [handle, entry(handle, addresses(handle))] as const);
      this.put({ ...object, spec: { ...object.spec, listeners: { ...object.spec.listeners, ...Object.fromEntries(entries) } } });
    });
  }

  /** The request of another pod than the usual one. */
  requestOf(name: string, podUid: string, volume = 'pvc-1'): NodePublishVolumeRequest {
    const volumeContext = podContext({ 'csi.storage.k8s.io/pod.name': name, 'csi.storage.k8s.io/pod.uid': podUid });
    return this.request({ volumeContext }, volume, podUid);
  }

  /** Plays the controller: says what a mount waits for. */
  mark(key: string, handle: string, status: { readonly reason: string; readonly message: string }): void {
    const object = this.cache.get(key);
    if (object === undefined) throw new Error('nothing to mark');
    this.put({ ...object, status: { mounts: { ...object.status?.mounts, [handle]: status } } });
  }

  /** Changes one volume's addresses in the object of the pod. */
  change(handle: string, addresses: readonly ListenerIngress[], key = POD_KEY): void {
    const object = this.cache.get(key);
    if (object === undefined) throw new Error('nothing to change');
    this.put({ ...object, spec: { ...object.spec, listeners: { ...object.spec.listeners, [handle]: entry(handle, addresses) } } });
  }

  /** Deletes the pod's object, and notifies the watch. */
  lose(key = POD_KEY): void {
    this.api.remove(podListeners, key);
    this.cache.delete(key);
  }

  put(object: PodListeners): void {
    this.api.put(podListeners, object);
  }
}

export function podContext(changes: Readonly<Record<string, string>> = {}): Map<string, string> {
  const context = {
    'csi.storage.k8s.io/pod.name': 'web-0',
    'csi.storage.k8s.io/pod.namespace': 'default',
    'csi.storage.k8s.io/pod.uid': POD_UID,
    'csi.storage.k8s.io/ephemeral': 'false',
  };
  return new Map(Object.entries({ ...context, ...changes }));
}

export function entry(handle: string, ingressAddresses: readonly ListenerIngress[]): PodListeners['spec']['listeners'][string] {
  return { scope: 'Node', ingressAddresses, volumeHandle: handle, listenerUid: 'u' };
}

export function ip(address: string, ports: Readonly<Record<string, number>> = { http: 30_001 }): ListenerIngress {
  return { address, addressType: 'IP', ports };
}

export interface RunningDriver extends AsyncDisposable {
  readonly node: Client<typeof NodeDefinition>;
  readonly identity: Client<typeof IdentityDefinition>;
  readonly registration: Client<typeof RegistrationDefinition>;
  readonly sockets: { readonly endpoint: string; readonly registry: string };
  /** The driver's reported readiness. */
  readonly readiness: (string | undefined)[];
  /** Settles as runCsiNode does. */
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

export async function startDriver(fixture: NodeFixture, options: Partial<CsiNodeOptions> = {}): Promise<RunningDriver> {
  const { kubeletDir, api, cache } = fixture;
  const endpoint = join(kubeletDir, 'plugins', DRIVER_NAME, 'csi.sock');
  const registry = join(kubeletDir, 'plugins_registry', `${DRIVER_NAME}-reg.sock`);
  const readiness: (string | undefined)[] = [];
  const stopper = new AbortController();
  const isServing = Promise.withResolvers<void>();
  const onReadiness = (problem: string | undefined): void => {
    readiness.push(problem);
    isServing.resolve();
  };
  const log = createLogger({ level: 'silent', component: 'test' });
  const ended = runCsiNode(
    { nodeName: NODE_NAME, kubeletDir, client: api, podListeners: cache, log, onReadiness, ...options },
    stopper.signal,
  );
  await Promise.race([isServing.promise, ended]);
  const channels = [endpoint, registry].map((path) =>
    createChannel(`unix://${path}`, undefined, { 'grpc.default_authority': 'localhost' }),
  );
  const [toDriver, toRegistration] = channels;
  if (toDriver === undefined || toRegistration === undefined) throw new Error('two channels were made');
  const stop = async (): Promise<void> => {
    for (const channel of channels) channel.close();
    stopper.abort();
    await ended.catch(() => undefined);
  };
  return {
    node: createClient(NodeDefinition, toDriver),
    identity: createClient(IdentityDefinition, toDriver),
    registration: createClient(RegistrationDefinition, toRegistration),
    sockets: { endpoint, registry },
    readiness,
    ended,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** Waits for a condition; the only way in which these tests let time pass. */
export async function until(condition: () => boolean, timeoutMs?: number): Promise<void> {
  await eventually(condition.toString(), condition, timeoutMs === undefined ? {} : { timeoutMs });
}

/** The call must fail with this status, and say these words. */
export async function rejects(call: Promise<unknown>, code: Status, words: string): Promise<void> {
  await assert.rejects(call, (error: unknown) => {
    assert.ok(error instanceof ClientError, String(error));
    assert.equal(Status[error.code], Status[code], error.details);
    assert.ok(error.details.includes(words), `${error.details} does not say: ${words}`);
    return true;
  });
}
