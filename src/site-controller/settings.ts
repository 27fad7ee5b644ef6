/** What the controller of sites was told when it was started: pure data, made of flags and environment by `cli/commands/site-controller.ts`. */
import type { OwnerReference } from '../kube/objects.ts';

export interface ControllerSettings {
  /** The Deployment that this controller is, where it is one: what is made for all sites goes with it. */
  readonly owner?: OwnerReference;
  readonly name: string;
  readonly namespace: string;
  readonly version: string;
  /** Left out: all namespaces. */
  readonly watchNamespace?: string;
  /** Only namespaces whose ConfigMap `skupper` names this controller. */
  readonly requireExplicitControl: boolean;
  readonly routerImage: string;
  readonly routerImagePullPolicy: 'Always' | 'IfNotPresent' | 'Never';
  /** Names of Secrets in each site's namespace. */
  readonly imagePullSecrets: readonly string[];
  /** Let the cluster choose users and rights of the router's container. */
  readonly disableSecurityContext: boolean;
  readonly access: AccessSettings;
  readonly grants: GrantSettings;
}

export interface AccessSettings {
  readonly enabledTypes: readonly string[];
  /** Empty: chosen by what the cluster has. */
  readonly defaultType: string;
  /** Of nodes, for `nodeport`; empty where nobody said. */
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
  /** Expose the server by the default access type, and take its address from there. */
  readonly autoconfigure: boolean;
  /** `https://host:port`, in place of a found one; empty otherwise. */
  readonly baseUrl: string;
  readonly port: number;
  /** Secret with the server's certificate, in the controller's namespace. */
  readonly tlsCredentials: string;
  readonly podName: string;
}
