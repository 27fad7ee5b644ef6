/** Settings of the site controller: plain data that `cli/commands/site-controller.ts` creates from flags and environment. */
import type { OwnerReference } from '../kube/objects.ts';

export interface ControllerSettings {
  /** The controller's own Deployment, if it has one. It owns the objects that all sites share. */
  readonly owner?: OwnerReference;
  readonly name: string;
  readonly namespace: string;
  readonly version: string;
  /** All namespaces if undefined. */
  readonly watchNamespace?: string;
  /** Manage only namespaces whose ConfigMap `skupper` names this controller. */
  readonly requireExplicitControl: boolean;
  readonly routerImage: string;
  readonly routerImagePullPolicy: 'Always' | 'IfNotPresent' | 'Never';
  /** Names of image pull Secrets in the namespace of each site. */
  readonly imagePullSecrets: readonly string[];
  /** Let the cluster choose the user and the privileges of the router's container. */
  readonly disableSecurityContext: boolean;
  readonly access: AccessSettings;
  readonly grants: GrantSettings;
}

export interface AccessSettings {
  readonly enabledTypes: readonly string[];
  /** Chosen by what the cluster serves, if empty. */
  readonly defaultType: string;
  /** Host name of the nodes, for `nodeport`; empty if not set. */
  readonly clusterHost: string;
  readonly ingressDomain: string;
  readonly ingressClassName: string;
  readonly httpProxyDomain: string;
  readonly gatewayDomain: string;
  readonly gatewayClass: string;
  readonly gatewayPort: number;
}

export interface GrantSettings {
  readonly enabled: boolean;
  /** Expose the server with the default access type and use the resulting address. */
  readonly autoconfigure: boolean;
  /** `https://host:port` instead of a discovered address; empty if not set. */
  readonly baseUrl: string;
  readonly port: number;
  /** Secret with the server's certificate, in the controller's namespace. */
  readonly tlsCredentials: string;
  readonly podName: string;
}
