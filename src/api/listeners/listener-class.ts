import { anyObject, choice, flag, mapOf, nullable, nullableChoice, object, optional, text } from '../schema.ts';

/**
 * `OpenShiftRoute` and `openshiftRoute` are admitted because a class of an earlier system may hold them. They expose nothing
 * here, and the Listener's condition says so. See docs/adr/0003-one-schema.md.
 */
export const listenerClassSpec = object('The policy.', {
  serviceType: choice(
    ['NodePort', 'LoadBalancer', 'ClusterIP', 'OpenShiftRoute'],
    'The type of the Service that exposes the pods. `ClusterIP`: reachable inside the cluster. `NodePort`: reachable at ' +
      'the addresses of the nodes on which the pods run. `LoadBalancer`: reachable at an address that a load balancer ' +
      'assigns. `OpenShiftRoute` is stored but not supported: a Listener of such a class is not accepted.',
  ),
  loadBalancerAllocateNodePorts: optional(
    flag('Whether a load balancer also gets node ports. Only for `LoadBalancer`.', { default: true }),
  ),
  loadBalancerClass: nullable(
    text(
      'Load balancer implementation, as in `spec.loadBalancerClass` of a Service. Default: the ' +
        "cluster's default one. Only for `LoadBalancer`. Kubernetes does not let it change on an existing Service.",
    ),
  ),
  serviceAnnotations: optional(
    mapOf(text('The value of the annotation.'), 'Annotations for the Service, for instance options of a load balancer.', { default: {} }),
  ),
  serviceExternalTrafficPolicy: nullableChoice(
    ['Cluster', 'Local'],
    'Routing of outside traffic that arrives at a node. `Local` gives it only to pods on that node and ' +
      "keeps the client's address. `Cluster` gives it to any of the pods. Default: Kubernetes decides. " +
      'Ignored for `ClusterIP`.',
  ),
  preferredAddressType: optional(
    choice(
      ['HostnameConservative', 'IP', 'Hostname'],
      'Which kind of address to announce where there are both. `HostnameConservative` is `IP` for `NodePort` and ' +
        '`Hostname` for the others. Where the preferred kind is absent, the other is announced.',
      { default: 'HostnameConservative' },
    ),
  ),
  pinnedNodePorts: optional(
    flag(
      "Whether a pod's volume keeps the pod on the node where it first ran, so that its address stays the same. Use it " +
        'where nodes live long. Only for `NodePort`.',
      { default: false },
    ),
  ),
  serviceOverrides: optional(
    anyObject(
      'Any part of a Service, merged over the generated one. Maps merge by key, `spec.ports` by `port` (and `protocol` ' +
        'if several share it). `spec.selector` and other lists are replaced, and `null` removes a field. ' +
        "The Service's identity, owners and status cannot be changed.",
      { default: {} },
    ),
  ),
  objectOverridesPolicy: optional(
    choice(
      ['Any', 'WithinClass'],
      "What a Listener's `objectOverrides` may change. `Any`: every part of the Service, so a Listener may leave what the class " +
        'decides. `WithinClass`: only `spec.ports` (but no node ports), `publishNotReadyAddresses`, `sessionAffinity`, ' +
        '`sessionAffinityConfig`, `internalTrafficPolicy` and `trafficDistribution`, if `serviceOverrides` does not set it. The ' +
        "rest is ignored, and a condition says so. For clusters whose namespaces are not the administrator's.",
      { default: 'Any' },
    ),
  ),
  openshiftRoute: nullable(anyObject('Stored, not used: see `serviceType`.')),
  nodeLossPolicy: optional(
    choice(
      ['Keep', 'Release'],
      'Policy for a pinned address whose Node is deleted. `Keep`: the pod waits for the node to come back. ' +
        '`Release`: the address is given up, and the pod starts on another node with a new one.',
      { default: 'Keep' },
    ),
  ),
});
