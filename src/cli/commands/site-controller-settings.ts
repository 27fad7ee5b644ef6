/** Computes the settings of the site controller from flags and environment. Pure. */
import { InvalidArgumentError } from 'commander';
import { CONTROLLER_NAME } from '../../api/skupper/cluster-names.ts';
import type { AccessSettings, ControllerSettings } from '../../site-controller/settings.ts';
import type { LogLevel } from '../../telemetry/log.ts';
import { VERSION } from '../../version.ts';
import type { SiteControllerCommand } from '../processes/site-controller.ts';

/** Flags as commander parses them; those with a default are required. */
export interface Flags {
  readonly namespace?: string;
  readonly name?: string;
  readonly identity?: string;
  readonly watchNamespace?: string;
  readonly requireExplicitControl?: boolean;
  readonly routerImage?: string;
  readonly imageRegistry?: string;
  readonly routerImagePullPolicy: ControllerSettings['routerImagePullPolicy'];
  readonly routerImagePullSecrets?: string;
  readonly disableSecurityContext?: boolean;
  readonly enabledAccessTypes: string;
  readonly defaultAccessType?: string;
  readonly clusterHost?: string;
  readonly ingressDomain?: string;
  readonly ingressClassName?: string;
  readonly httpProxyDomain?: string;
  readonly gatewayClass?: string;
  readonly gatewayDomain?: string;
  readonly gatewayPort: number;
  readonly enableGrants?: boolean;
  readonly grantServerAutoconfigure?: boolean;
  readonly grantServerBaseUrl?: string;
  readonly grantServerPort: number;
  readonly grantServerTlsCredentials: string;
  readonly grantServerPodname?: string;
  readonly metricsAddress: string;
  readonly disableMetrics?: boolean;
  readonly kubeconfig?: string;
  readonly leaderElection: boolean;
  readonly manageCrds: boolean;
  readonly concurrency: number;
  readonly logLevel: LogLevel;
  readonly allowRedeemByKey?: boolean;
}

type Environment = Readonly<Record<string, string | undefined>>;

const ACCESS_TYPES = ['local', 'loadbalancer', 'nodeport', 'route', 'ingress', 'ingress-nginx', 'contour-http-proxy', 'gateway'];
/** `listenerclass:NAME` names a class that the cluster's administrator offers, so it needs no list of enabled types. */
const BY_CLASS = /^listenerclass:./;
const NO_EFFECT: Readonly<Record<string, string>> = {
  SKUPPER_KUBE_ADAPTOR_IMAGE: "a router's pod has one container",
  SKUPPER_KUBE_ADAPTOR_IMAGE_PULL_POLICY: "a router's pod has one container",
  SKUPPER_KUBE_CLIENT_QPS: 'the API server limits the rate',
  SKUPPER_KUBE_CLIENT_BURST: 'the API server limits the rate',
};

/** @throws InvalidArgumentError the reason why the controller cannot start, in words for the author of its manifest */
export function startOf(given: Flags, environment: Environment, namespaceOfPod: string | undefined): SiteControllerCommand {
  // Empty values count as unset.
  const flags = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== '')) as unknown as Flags;
  const { leaderElection, manageCrds, concurrency, logLevel } = flags;
  const settings = settingsOf(flags, environment, namespaceOfPod);
  return {
    settings,
    identity: required(flags.identity ?? environment['HOSTNAME'], 'Name this replica with --identity, POD_NAME or HOSTNAME.'),
    ...addressOf(flags.metricsAddress),
    metrics: flags.disableMetrics !== true,
    leaderElection,
    manageCrds,
    concurrency,
    logLevel,
    ...(flags.kubeconfig === undefined ? {} : { kubeconfig: flags.kubeconfig }),
    notices: noticesOf(flags, settings.access, environment),
  };
}

function settingsOf(flags: Flags, environment: Environment, namespaceOfPod: string | undefined): ControllerSettings {
  const { watchNamespace } = flags;
  return {
    name: flags.name ?? deploymentOf(environment['HOSTNAME']) ?? CONTROLLER_NAME,
    namespace: required(
      flags.namespace ?? environment['POD_NAMESPACE'] ?? namespaceOfPod,
      'Name the namespace of this controller with --namespace or NAMESPACE.',
    ),
    version: VERSION,
    ...(watchNamespace === undefined ? {} : { watchNamespace }),
    requireExplicitControl: flags.requireExplicitControl === true,
    routerImage: routerImageOf(flags),
    routerImagePullPolicy: flags.routerImagePullPolicy,
    imagePullSecrets: listOf(flags.routerImagePullSecrets),
    disableSecurityContext: flags.disableSecurityContext === true,
    access: accessOf(flags),
    grants: {
      enabled: flags.enableGrants === true,
      autoconfigure: flags.grantServerAutoconfigure === true,
      baseUrl: flags.grantServerBaseUrl ?? '',
      port: flags.grantServerPort,
      tlsCredentials: flags.grantServerTlsCredentials,
      podName: flags.grantServerPodname ?? environment['POD_NAME'] ?? '',
    },
  };
}

function accessOf(flags: Flags): AccessSettings {
  const access: AccessSettings = {
    enabledTypes: listOf(flags.enabledAccessTypes),
    defaultType: flags.defaultAccessType ?? '',
    clusterHost: flags.clusterHost ?? '',
    ingressDomain: flags.ingressDomain ?? '',
    ingressClassName: flags.ingressClassName ?? '',
    httpProxyDomain: flags.httpProxyDomain ?? '',
    gatewayDomain: flags.gatewayDomain ?? '',
    gatewayClass: flags.gatewayClass ?? '',
    gatewayPort: flags.gatewayPort,
  };
  const { enabledTypes, defaultType } = access;
  const has = (type: string): boolean => enabledTypes.includes(type);
  if (defaultType !== '' && !BY_CLASS.test(defaultType) && !has(defaultType)) {
    throw new InvalidArgumentError(
      `The default access type "${defaultType}" is not enabled (${enabledTypes.join(', ')}): add it to --enabled-access-types (SKUPPER_ENABLED_ACCESS_TYPES).`,
    );
  }
  if (has('nodeport') && access.clusterHost === '') {
    throw new InvalidArgumentError(
      'Access type nodeport needs the host at which other sites reach nodes: set --cluster-host (SKUPPER_CLUSTER_HOST).',
    );
  }
  if (has('gateway') && access.gatewayClass === '') {
    throw new InvalidArgumentError('Access type gateway needs the class of the Gateway: set --gateway-class (SKUPPER_GATEWAY_CLASS).');
  }
  return access;
}

function routerImageOf({ routerImage: image, imageRegistry = 'localhost' }: Flags): string {
  if (image === undefined) return `${imageRegistry.replace(/\/+$/, '')}/earshot:${VERSION}`;
  if (/(?:^|\/)skupper-router(?:[:@]|$)/.test(image)) {
    throw new InvalidArgumentError(
      `The image ${image} is Skupper's router: set Earshot's image with --router-image (SKUPPER_ROUTER_IMAGE).`,
    );
  }
  return image;
}

/**
 * Name of the Deployment of a pod: `skupper-controller` for `skupper-controller-6fd6dbd4c4-x2x7b`. The whole name if the pod does
 * not belong to a Deployment.
 */
function deploymentOf(hostname: string | undefined): string | undefined {
  if (hostname === undefined || hostname === '') return undefined;
  return /^(.+)-[bcdfghjklmnpqrstvwxz2456789]{6,10}-[bcdfghjklmnpqrstvwxz2456789]{5}$/.exec(hostname)?.[1] ?? hostname;
}

function addressOf(address: string): { readonly httpPort: number; readonly httpHost?: string } {
  const { host = '', port = '' } = /^(?<host>\[[^\]]*\]|[^:]*):(?<port>\d{1,5})$/.exec(address)?.groups ?? {};
  if (port === '' || Number(port) > 65_535)
    throw new InvalidArgumentError(`"${address}" is not an address for metrics (--metrics-address): use HOST:PORT or :PORT.`);
  const bare = host.replace(/^\[(.*)\]$/, '$1');
  return { httpPort: Number(port), ...(bare === '' ? {} : { httpHost: bare }) };
}

/** One line for each setting that has no effect here. */
function noticesOf(flags: Flags, { enabledTypes }: AccessSettings, environment: Environment): readonly string[] {
  const given = Object.entries(NO_EFFECT).filter(([name]) => (environment[name] ?? '') !== '');
  const unknown = enabledTypes.filter((type) => !ACCESS_TYPES.includes(type) && !BY_CLASS.test(type));
  return [
    ...given.map(([name, why]) => `${name} has no effect: ${why}`),
    ...(flags.allowRedeemByKey === true ? ['--allow-redeem-by-key has no effect: a token names its grant'] : []),
    ...unknown.map(
      (type) => `access type ${JSON.stringify(type)} is unknown; known types are ${ACCESS_TYPES.join(', ')} and listenerclass:NAME`,
    ),
  ];
}

function listOf(text = ''): readonly string[] {
  return text
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');
}

function required(value: string | undefined, message: string): string {
  if (value === undefined || value === '') throw new InvalidArgumentError(message);
  return value;
}
