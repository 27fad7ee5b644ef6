/** Facts about objects of the exposure half, from which explanations are made: plain data. Unknown ones say which right is missing. */
import type { Listener, ListenerClass, PodListeners } from '../../api/listeners/index.ts';
import type {
  EndpointSlice,
  KubeObject,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  Service,
  StorageClass,
} from '../../kube/objects.ts';
import type { Source } from '../connection/site-facts.ts';
import type { RefusedWorkload } from './refused-workload.ts';

/** Facts that every chain needs. */
export interface ExposureFacts {
  /** Milliseconds since 1970, by the clock of this process. */
  readonly now: number;
  /** Lease of the controller. Undefined if it does not exist. */
  readonly lease: Source<LeaseFacts | undefined>;
  readonly classes: Source<readonly ListenerClass[]>;
}

export interface LeaseFacts {
  /** `namespace/name`. */
  readonly key: string;
  /** Undefined if no replica holds it. */
  readonly holder?: string;
  /** End of its duration since the last renewal, in milliseconds since 1970. */
  readonly endsAt: number;
  /** Whether it has expired and the holder's pod is gone. */
  readonly isAbandoned?: true;
}

/** An event of the core API group, newest last. */
export interface EventFacts {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly reporter: string;
  /** RFC 3339. */
  readonly at: string;
}

export interface ListenerFacts extends ExposureFacts {
  readonly listener: Listener;
  readonly service: Source<Service | undefined>;
  readonly serviceEvents: Source<readonly EventFacts[]>;
  /** Pods that the Service selects. */
  readonly pods: Source<readonly Pod[]>;
  readonly endpoints: Source<readonly EndpointSlice[]>;
  /** Nodes with endpoints. Undefined if they are not examined. */
  readonly nodes?: Source<readonly Node[]>;
  /** Workloads of the namespace with listener volumes whose next pod is refused. Undefined if they are not examined. */
  readonly workloads?: Source<readonly RefusedWorkload[]>;
  /** Undefined without `--probe`. */
  readonly probes?: readonly ProbeResult[];
}

/** A TCP connection from this process to one address and port. */
export interface ProbeResult {
  readonly address: string;
  readonly port: number;
  readonly result: 'open' | 'refused' | 'silent' | 'failed';
  readonly milliseconds: number;
}

export interface ClassFacts extends ExposureFacts {
  readonly listenerClass: ListenerClass;
  /** Listeners of the class. */
  readonly listeners: Source<readonly Listener[]>;
  /** Services of Listeners of this class. */
  readonly services: Source<readonly Service[]>;
}

export interface ClaimFacts extends ExposureFacts {
  readonly name: string;
  readonly claim: Source<PersistentVolumeClaim | undefined>;
  readonly storageClass: Source<StorageClass | undefined>;
  readonly volume: Source<PersistentVolume | undefined>;
  readonly claimEvents: Source<readonly EventFacts[]>;
  /** Listeners of the namespace. */
  readonly listeners: Source<readonly Listener[]>;
}

export interface PodFacts extends ExposureFacts {
  readonly pod: Pod;
  /** Claims that the pod mounts. */
  readonly claims: readonly ClaimFacts[];
  readonly podEvents: Source<readonly EventFacts[]>;
  readonly csiNode: Source<CsiNode | undefined>;
  readonly podListeners: Source<PodListeners | undefined>;
  /** Volumes of the node, as its driver reports them. Undefined if the user may not ask it. */
  readonly driverVolumes?: Source<readonly DriverVolume[]>;
}

export interface DriverVolume {
  /** UID of the pod. */
  readonly pod: string;
  readonly volume: string;
  /** Digest of the entry in PodListeners that the files have; undefined if none was written. */
  readonly hash?: string;
  /** RFC 3339. */
  readonly writtenAt?: string;
  readonly isStale: boolean;
}

/** Everything that is exposed in one namespace. */
export interface NamespaceFacts extends ExposureFacts {
  readonly namespace: string;
  readonly listeners: Source<readonly ListenerFacts[]>;
  /** As in `ListenerFacts`. */
  readonly workloads?: Source<readonly RefusedWorkload[]>;
  /** Pods that mount listener volumes and still need them. */
  readonly pods: Source<readonly PodFacts[]>;
  readonly claims: Source<readonly PersistentVolumeClaim[]>;
  /** Volumes of the driver for claims of the namespace. */
  readonly volumes: Source<readonly PersistentVolume[]>;
  /** Clauses for users about objects that are left out: `only 1000 of 1200 Listeners are examined`. */
  readonly omitted: readonly string[];
}

/** storage.k8s.io/v1 CSINode: drivers that are registered at the kubelet of a node. */
export interface CsiNode extends KubeObject {
  readonly spec?: { readonly drivers?: readonly { readonly name: string }[] };
}
