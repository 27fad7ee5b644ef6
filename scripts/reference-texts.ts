/** What the reference says beside the fields. Every example here is sent to a real API server by the tests. */
import {
  API_VERSION,
  GROUP,
  LISTENER_CLASS_ANNOTATION,
  LISTENER_NAME_ANNOTATION,
  LISTENER_NAME_LABEL,
  LISTENER_NAMESPACE_LABEL,
  POD_LABEL_PREFIX,
  TOPOLOGY_KEY,
} from '../src/api/listeners/names.ts';

export const beforeKinds = `
<!-- Written by \`npm run generate\` from src/api/listeners and scripts/reference-texts.ts: change it there. -->

# The resources of ${API_VERSION}

Three kinds say which pods are exposed and how, and report the addresses. A [ListenerClass](#listenerclass) is a policy. A
[Listener](#listener) is a set of pods exposed by a policy. [PodListeners](#podlisteners) is one pod's view of its Listeners. Pods take part by [mounting a volume](#volumes).

In the tables \`*\` marks a field that must be given, \`[]\` an entry of a list, and \`.*\` a value of a map. "or null" means
that \`null\` is kept as it is and counts as left out; in other fields it is dropped. \`kubectl explain lsn.spec\` shows the same in a terminal. Where another API group
of the cluster has \`listeners\` too, write the full name or the short one.
`;

const examples: Readonly<Record<string, string>> = {
  ListenerClass: `
apiVersion: ${API_VERSION}
kind: ListenerClass
metadata:
  name: internal-load-balancer
spec:
  serviceType: LoadBalancer
  serviceAnnotations:
    service.example.com/internal: "true"
  preferredAddressType: IP
  serviceOverrides:
    spec:
      loadBalancerSourceRanges: [10.0.0.0/8]
`,
  Listener: `
apiVersion: ${API_VERSION}
kind: Listener
metadata:
  name: web
spec:
  className: cluster-internal
  ports:
    - name: https
      port: 8443
  publishNotReadyAddresses: false
  objectOverrides:
    - apiVersion: v1
      kind: Service
      metadata:
        name: web
        annotations:
          example.com/contact: web-team
      spec:
        ports:
          - port: 8443
            appProtocol: https
`,
  PodListeners: `
apiVersion: ${API_VERSION}
kind: PodListeners
metadata:
  name: pod-6f1ed9a5-0d55-4c5c-9d0c-1d3d2b1f7a10
spec:
  nodeName: node-1
  mounts:
    pvc-5cd1d2a4-4b5f-4c1e-8f0e-6f7c9f1f0a11: {}
  listeners:
    address:
      scope: Node
      volumeHandle: pvc-5cd1d2a4-4b5f-4c1e-8f0e-6f7c9f1f0a11
      ingressAddresses:
        - address: 192.0.2.11
          addressType: IP
          ports:
            https: 31443
`,
};

const remarks: Readonly<Record<string, string>> = {
  ListenerClass: `
Overrides are merged over the Service that is built: first the class's \`serviceOverrides\`, then the Listener's
\`objectOverrides\` in their order. Maps merge by key, \`spec.ports\` by \`port\` (and by \`protocol\` if several share a
port). \`spec.selector\` and other lists are replaced, and \`null\` removes a field. The Service's name, namespace, kind,
owners, finalizers and status stay as they are; what had no effect is named in the Listener's \`Accepted\` condition.
A Service has at most 1,024 ports, and at most 64 overrides apply.
(A \`null\` reaches the cluster with \`kubectl create\` and \`kubectl apply --server-side\`; the client-side \`kubectl apply\`
leaves it out.) With \`objectOverridesPolicy: WithinClass\`, what a Listener's overrides say beyond the free fields is left out.
`,
  Listener: `
A Listener that cannot work is not refused when it is written. Examples are a port out of range, a class that does not exist
and an override without effect. The conditions name the problem and the remedy.
`,
};

export function exampleOf(kind: string): string {
  const example = examples[kind];
  if (example === undefined) throw new Error(`scripts/reference-texts.ts has no example of ${kind}: add one.`);
  return example;
}

export function remarksOn(kind: string): string {
  return (remarks[kind] ?? '').trim();
}

export const afterKinds = `
## Volumes

A pod takes part in a Listener by mounting a PersistentVolumeClaim of the storage class \`${GROUP}\`.
The claim has exactly one of two annotations:

| annotation | the volume is of |
| --- | --- |
| \`${LISTENER_NAME_ANNOTATION}\` | the Listener of that name, in the same namespace |
| \`${LISTENER_CLASS_ANNOTATION}\` | its own Listener of that class, created for this claim. It has the claim's name and labels and the ports of the pod's containers |

\`\`\`yaml
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: web
spec:
  serviceName: web
  selector:
    matchLabels:
      app: web
  template:
    metadata:
      labels:
        app: web
    spec:
      containers:
        - name: web
          image: registry.example.com/web:1
          ports:
            - name: https
              containerPort: 8443
          volumeMounts:
            - name: address
              mountPath: /address
  volumeClaimTemplates:
    - metadata:
        name: address
        annotations:
          ${LISTENER_CLASS_ANNOTATION}: external-stable
      spec:
        storageClassName: ${GROUP}
        accessModes: [ReadWriteMany]
        resources:
          requests:
            storage: "1"
\`\`\`

The claim of a StatefulSet's template keeps its address for as long as the claim exists. With \`volumes[].ephemeral\` it lives
as long as the pod. One claim by \`${LISTENER_NAME_ANNOTATION}\` may be shared by several pods. Inline volumes
(\`volumes[].csi\`) are refused.

The files, with no newline at their end:

| path in the volume | content |
| --- | --- |
| \`default-address\` | a link to the preferred address below \`addresses\` |
| \`addresses/ADDRESS/address\` | the address |
| \`addresses/ADDRESS/ports/NAME\` | the number to connect to for the port of that name |

## Labels and keys on other objects

| on | key | value |
| --- | --- | --- |
| Pod | \`${POD_LABEL_PREFIX}UID\`, the Listener's uid without dashes | the Listener's name; its Service selects by it |
| Service | \`app.kubernetes.io/name: listener\`, \`app.kubernetes.io/instance\`, \`app.kubernetes.io/managed-by: listeners.stackable.tech_listener\` | whose Service it is; \`instance\` is the Listener's name |
| PersistentVolume | \`${LISTENER_NAMESPACE_LABEL}\`, \`${LISTENER_NAME_LABEL}\` | the Listener that it mounts |
| Node (CSINode), PersistentVolume's node affinity | \`${TOPOLOGY_KEY}\` | the node's name |

## What an earlier system left behind

Existing definitions and objects of the same API stay in use. The definitions are replaced by server-side apply, and no object
is deleted or rewritten. The schema admits what earlier ones admitted, \`null\` for left-out fields
included. If a stored value is outside the schema after all, Kubernetes 1.33 and later (validation ratcheting) still accept
changes to the object's other fields.

Stored but not supported:

| value | what happens |
| --- | --- |
| \`serviceType: OpenShiftRoute\` and \`openshiftRoute\` of a ListenerClass | they stay as they are; a Listener of such a class is not accepted, and its condition says so |

\`PodListeners\` can be watched by node with the field selector \`spec.nodeName\`, which API servers know since Kubernetes 1.31.
`;
