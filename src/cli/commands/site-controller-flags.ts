/** Flags of `earshot site-controller`, each with its environment variable. */
import { InvalidArgumentError, Option } from 'commander';
import { logLevels } from '../../telemetry/log.ts';
import { portNumber, positiveInteger } from './options.ts';

export function flagOptions(): readonly Option[] {
  return [
    text('namespace <name>', 'NAMESPACE', "namespace of this controller (default: the pod's)"),
    text('name <name>', 'CONTROLLER_NAME', "name of this controller (default: its Deployment's, from HOSTNAME)"),
    text('identity <name>', 'POD_NAME', 'unique name of this replica (default: HOSTNAME)'),
    text('watch-namespace <name>', 'WATCH_NAMESPACE', 'the only namespace to manage (default: all)'),
    toggle('require-explicit-control', 'REQUIRE_EXPLICIT_CONTROL', 'manage only namespaces whose ConfigMap skupper names this controller'),
    text('router-image <image>', 'SKUPPER_ROUTER_IMAGE', "image of the routers' pods (default: REGISTRY/earshot:VERSION)"),
    text('image-registry <registry>', 'SKUPPER_IMAGE_REGISTRY', 'registry of the default image (default: localhost)'),
    parsed(
      'router-image-pull-policy <policy>',
      'SKUPPER_ROUTER_IMAGE_PULL_POLICY',
      "pull policy of the routers' image: Always, IfNotPresent or Never",
      pullPolicy,
      'IfNotPresent',
    ),
    text(
      'router-image-pull-secrets <names>',
      'SKUPPER_ROUTER_IMAGE_PULL_SECRETS',
      "pull secrets in each site's namespace, separated by commas",
    ),
    toggle('disable-security-context', 'DISABLE_SECURITY_CONTEXT', "let the cluster choose users and rights of the routers' containers"),
    text(
      'enabled-access-types <types>',
      'SKUPPER_ENABLED_ACCESS_TYPES',
      'permitted access types of sites, separated by commas',
      'local,loadbalancer,route',
    ),
    text(
      'default-access-type <type>',
      'SKUPPER_DEFAULT_ACCESS_TYPE',
      'access type of sites that name none (default: chosen by what the cluster supports)',
    ),
    text('cluster-host <host>', 'SKUPPER_CLUSTER_HOST', "name or address of the cluster's nodes, for nodeport"),
    text('ingress-domain <domain>', 'SKUPPER_INGRESS_DOMAIN', 'domain of hosts of Ingresses'),
    text('ingress-class-name <name>', 'SKUPPER_INGRESS_CLASS_NAME', 'class of Ingresses'),
    text('http-proxy-domain <domain>', 'SKUPPER_HTTP_PROXY_DOMAIN', 'domain of hosts of HTTPProxies (Contour)'),
    text('gateway-class <name>', 'SKUPPER_GATEWAY_CLASS', 'class of the Gateway'),
    text('gateway-domain <domain>', 'SKUPPER_GATEWAY_DOMAIN', "domain of hosts of the Gateway's routes"),
    parsed('gateway-port <port>', 'SKUPPER_GATEWAY_PORT', 'port of the Gateway', portNumber, 8443),
    toggle('enable-grants', 'SKUPPER_ENABLE_GRANTS', 'let sites issue tokens'),
    toggle('grant-server-autoconfigure', 'SKUPPER_GRANT_SERVER_AUTOCONFIGURE', 'expose the grant server by the default access type'),
    text(
      'grant-server-base-url <url>',
      'SKUPPER_GRANT_SERVER_BASE_URL',
      'https://HOST:PORT at which other sites reach the grant server, if it is exposed by other means',
    ),
    parsed('grant-server-port <port>', 'SKUPPER_GRANT_SERVER_PORT', 'port of the grant server', portNumber, 9090),
    text(
      'grant-server-tls-credentials <name>',
      'SKUPPER_GRANT_SERVER_TLS_CREDENTIALS',
      'Secret with the certificate of the grant server',
      'skupper-grant-server',
    ),
    text('grant-server-podname <name>', 'HOSTNAME', 'name of the pod of the grant server'),
    text('metrics-address <address>', 'SKUPPER_METRICS_ADDRESS', 'HOST:PORT or :PORT of /metrics, /livez and /readyz', ':9000'),
    toggle('disable-metrics', 'SKUPPER_METRICS_DISABLE', 'do not serve /metrics'),
    text('kubeconfig <path>', 'KUBECONFIG', "kubeconfig file for the API server (default: the pod's service account)"),
    new Option('--no-leader-election', 'lead without a lease; only for a single replica'),
    new Option('--no-manage-crds', 'leave the CustomResourceDefinitions as they are'),
    new Option('--concurrency <number>', 'number of namespaces reconciled in parallel').argParser(positiveInteger).default(16),
    new Option('--log-level <level>', "log level, unless ConfigMap skupper-log-config in the controller's namespace sets one")
      .choices(logLevels)
      .default('info'),
    toggle('allow-redeem-by-key', 'SKUPPER_ALLOW_REDEEM_BY_KEY', 'no effect: a token names its grant'),
  ];
}

/** Accepts Go-style flags: `-enable-grants` becomes `--enable-grants`. Single letters stay as they are. */
export function withTwoDashes(words: readonly string[]): string[] {
  return words.map((word) => (/^-[a-z][a-z-]+(?:=|$)/.test(word) ? `-${word}` : word));
}

function text(flag: string, variable: string, about: string, fallback?: string): Option {
  return parsed(flag, variable, about, String, fallback);
}

function toggle(flag: string, variable: string, about: string): Option {
  return parsed(`${flag} [boolean]`, variable, about, boolean).preset('true');
}

function parsed<T>(flag: string, variable: string, about: string, parse: (text: string) => T, fallback?: T): Option {
  const option = new Option(`--${flag}`, about).env(variable);
  if (fallback !== undefined) option.default(fallback);
  // An empty variable counts as unset.
  return option.argParser((word: string, previous?: T) => (word === '' && previous !== undefined ? previous : parse(word)));
}

function boolean(word: string): boolean {
  if (/^(?:1|t|true)$/i.test(word)) return true;
  if (/^(?:0|f|false|)$/i.test(word)) return false;
  throw new InvalidArgumentError('It must be true or false.');
}

function pullPolicy(word: string): string {
  if (['Always', 'IfNotPresent', 'Never'].includes(word)) return word;
  throw new InvalidArgumentError('It must be Always, IfNotPresent or Never.');
}
