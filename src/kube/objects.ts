/**
 * The parts of Kubernetes objects that Earshot reads and writes. Names and meanings of fields are those of the API reference,
 * v1.36. Everything is readonly: cached objects are shared, and changes create new objects.
 */

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

export type StringMap = Readonly<Record<string, string>>;

export interface ObjectMeta {
  readonly name?: string;
  readonly generateName?: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly labels?: StringMap;
  readonly annotations?: StringMap;
  readonly ownerReferences?: readonly OwnerReference[];
  readonly finalizers?: readonly string[];
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly managedFields?: readonly unknown[];
}

export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
}

/** metav1.Condition. */
export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly observedGeneration?: number;
  /** RFC 3339 with seconds. */
  readonly lastTransitionTime: string;
  readonly reason: string;
  readonly message: string;
}

export interface ServicePort {
  readonly name?: string;
  readonly protocol?: string;
  readonly port: number;
  readonly targetPort?: number | string;
  readonly nodePort?: number;
}

export interface LoadBalancerIngress {
  readonly ip?: string;
  readonly hostname?: string;
  /** State of each port at this address, if the load balancer reports it. */
  readonly ports?: readonly { readonly port: number; readonly protocol?: string; readonly error?: string }[];
}

export interface Service extends KubeObject {
  readonly spec?: {
    readonly type?: string;
    readonly ports?: readonly ServicePort[];
    readonly selector?: StringMap;
    readonly clusterIP?: string;
    readonly clusterIPs?: readonly string[];
    readonly ipFamilies?: readonly string[];
    readonly ipFamilyPolicy?: string;
    readonly externalIPs?: readonly string[];
    readonly externalTrafficPolicy?: string;
    readonly healthCheckNodePort?: number;
    readonly loadBalancerClass?: string;
    readonly allocateLoadBalancerNodePorts?: boolean;
    readonly publishNotReadyAddresses?: boolean;
  };
  readonly status?: { readonly loadBalancer?: { readonly ingress?: readonly LoadBalancerIngress[] } };
}

export interface NodeAddress {
  /** ExternalIP, InternalIP, Hostname, ExternalDNS or InternalDNS. */
  readonly type: string;
  readonly address: string;
}

export interface Node extends KubeObject {
  readonly status?: {
    readonly addresses?: readonly NodeAddress[];
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message?: string }[];
    readonly nodeInfo?: { readonly kubeletVersion?: string; readonly operatingSystem?: string };
  };
}

export interface NodeSelectorRequirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

export interface PersistentVolume extends KubeObject {
  readonly spec?: {
    readonly csi?: {
      readonly driver: string;
      readonly volumeHandle: string;
      readonly volumeAttributes?: StringMap;
      readonly fsType?: string;
    };
    readonly claimRef?: Partial<ObjectReference>;
    readonly nodeAffinity?: {
      readonly required?: { readonly nodeSelectorTerms: readonly { readonly matchExpressions?: readonly NodeSelectorRequirement[] }[] };
    };
    readonly accessModes?: readonly string[];
    readonly capacity?: StringMap;
    readonly mountOptions?: readonly string[];
    readonly persistentVolumeReclaimPolicy?: string;
    readonly storageClassName?: string;
    readonly volumeMode?: string;
  };
  readonly status?: { readonly phase?: string };
}

export interface PersistentVolumeClaim extends KubeObject {
  readonly spec?: {
    readonly accessModes?: readonly string[];
    readonly resources?: { readonly requests?: StringMap };
    readonly storageClassName?: string;
    readonly volumeMode?: string;
    readonly volumeName?: string;
    readonly volumeAttributesClassName?: string;
    readonly selector?: unknown;
    readonly dataSource?: { readonly kind?: string };
    readonly dataSourceRef?: { readonly kind?: string };
  };
  readonly status?: { readonly phase?: string };
}

/** storage.k8s.io/v1. */
export interface StorageClass extends KubeObject {
  readonly provisioner: string;
  readonly parameters?: StringMap;
  readonly reclaimPolicy?: string;
  readonly mountOptions?: readonly string[];
  readonly volumeBindingMode?: string;
  readonly allowedTopologies?: readonly {
    readonly matchLabelExpressions?: readonly { readonly key: string; readonly values: readonly string[] }[];
  }[];
}

export interface ContainerPort {
  readonly name?: string;
  readonly containerPort: number;
  readonly protocol?: string;
}

export interface Container {
  readonly name: string;
  readonly ports?: readonly ContainerPort[];
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
  readonly restartPolicy?: string;
}

export interface PodVolume {
  readonly name: string;
  readonly persistentVolumeClaim?: { readonly claimName: string };
  readonly ephemeral?: unknown;
}

export interface Pod extends KubeObject {
  readonly spec?: {
    readonly nodeName?: string;
    readonly containers: readonly Container[];
    readonly initContainers?: readonly Container[];
    readonly volumes?: readonly PodVolume[];
  };
  readonly status?: {
    readonly phase?: string;
    readonly podIP?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message?: string }[];
    readonly containerStatuses?: readonly {
      readonly name: string;
      readonly state?: { readonly waiting?: { readonly reason?: string; readonly message?: string }; readonly terminated?: ContainerEnd };
      readonly lastState?: { readonly terminated?: ContainerEnd };
    }[];
  };
}

export interface ContainerEnd {
  readonly reason?: string;
  readonly exitCode?: number;
}

/** discovery.k8s.io/v1. */
export interface EndpointSlice extends KubeObject {
  readonly addressType?: string;
  readonly ports?: readonly { readonly name?: string; readonly port?: number; readonly protocol?: string }[];
  readonly endpoints?: readonly {
    readonly addresses?: readonly string[];
    readonly nodeName?: string;
    readonly targetRef?: Partial<ObjectReference>;
    readonly conditions?: { readonly ready?: boolean; readonly serving?: boolean; readonly terminating?: boolean };
  }[];
}

/** A reference to any object, in an event or elsewhere. */
export interface ObjectReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  readonly uid?: string;
}

/** v1. */
export interface ConfigMap extends KubeObject {
  readonly data?: StringMap;
}

/** v1. Values are base64. */
export interface Secret extends KubeObject {
  readonly type?: string;
  readonly data?: StringMap;
}

/** apps/v1, the fields that are read. */
export interface Deployment extends KubeObject {
  readonly spec?: {
    readonly replicas?: number;
    readonly selector?: { readonly matchLabels?: StringMap };
    readonly template?: unknown;
    readonly strategy?: unknown;
  };
  readonly status?: {
    readonly availableReplicas?: number;
    readonly readyReplicas?: number;
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message?: string }[];
  };
}

/** policy/v1, the fields that are written. */
export interface PodDisruptionBudget extends KubeObject {
  readonly spec?: {
    readonly minAvailable?: number;
    readonly selector?: { readonly matchLabels?: StringMap };
    readonly unhealthyPodEvictionPolicy?: string;
  };
}

export interface PolicyRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}

/** rbac.authorization.k8s.io/v1. */
export interface Role extends KubeObject {
  readonly rules?: readonly PolicyRule[];
}

/** rbac.authorization.k8s.io/v1. */
export interface RoleBinding extends KubeObject {
  readonly roleRef?: { readonly apiGroup: string; readonly kind: string; readonly name: string };
  readonly subjects?: readonly { readonly kind: string; readonly name: string; readonly namespace?: string }[];
}
