import { Option, type Command } from 'commander';
import { CONTROLLER_NAME } from '../../api/skupper/cluster-names.ts';
import type { ControllerSettings } from '../../connection/settings.ts';
import { logLevels, type LogLevel } from '../../telemetry/log.ts';
import { VERSION } from '../../version.ts';
import { untilStopped } from '../processes/signals.ts';
import { portNumber, positiveInteger } from './options.ts';

interface SiteControllerOptions {
  readonly namespace: string;
  readonly identity: string;
  readonly name: string;
  readonly watchNamespace?: string;
  readonly routerImage: string;
  readonly leaderElection: boolean;
  readonly concurrency: number;
  readonly httpPort: number;
  readonly kubeconfig?: string;
  readonly logLevel: LogLevel;
}

/** `earshot site-controller`. */
export function addSiteController(program: Command): void {
  const { env } = process;
  program
    .command('site-controller')
    .description('keep the sites of a cluster: their routers, Services, certificates and tokens; runs as a Deployment, one replica leads')
    .requiredOption('--namespace <name>', 'namespace of this controller', env['NAMESPACE'] ?? env['POD_NAMESPACE'])
    .requiredOption('--identity <name>', 'name of this replica, unique among them', env['POD_NAME'] ?? env['HOSTNAME'])
    .option('--name <name>', 'name of this controller', env['CONTROLLER_NAME'] ?? CONTROLLER_NAME)
    .option('--watch-namespace <name>', 'the one namespace whose site is kept; left out: all', env['WATCH_NAMESPACE'])
    .requiredOption('--router-image <image>', "image of the routers' pods", env['SKUPPER_ROUTER_IMAGE'])
    .option('--no-leader-election', 'lead at once; only for a single replica')
    .option('--concurrency <number>', 'namespaces that are looked at at once', positiveInteger, 16)
    .addOption(new Option('--http-port <number>', 'port of /metrics, /livez and /readyz').argParser(portNumber).default(9000))
    .option('--kubeconfig <path>', "reach the API server as this file says; left out: as a pod's service account", env['KUBECONFIG'])
    .addOption(new Option('--log-level <level>').choices(logLevels).default('info'))
    .addHelpText(
      'after',
      '\nExample:\n  earshot site-controller --namespace skupper --router-image localhost/earshot --identity $(hostname)',
    )
    .action(async ({ identity, leaderElection, concurrency, httpPort, logLevel, kubeconfig, ...options }: SiteControllerOptions) => {
      const { runSiteController } = await import('../processes/site-controller.ts');
      const more = kubeconfig === undefined ? {} : { kubeconfig };
      const settings = settingsOf(options);
      await runSiteController({ settings, identity, leaderElection, concurrency, httpPort, logLevel, ...more }, untilStopped());
    });
}

function settingsOf({
  namespace,
  name,
  watchNamespace,
  routerImage,
}: Pick<SiteControllerOptions, 'namespace' | 'name' | 'watchNamespace' | 'routerImage'>): ControllerSettings {
  return {
    name,
    namespace,
    version: VERSION,
    ...(watchNamespace === undefined ? {} : { watchNamespace }),
    requireExplicitControl: false,
    routerImage,
    routerImagePullPolicy: 'IfNotPresent',
    imagePullSecrets: [],
    disableSecurityContext: false,
    access: {
      enabledTypes: ['local', 'loadbalancer', 'route'],
      defaultType: '',
      clusterHost: '',
      ingressDomain: '',
      ingressClassName: '',
      httpProxyDomain: '',
      gatewayDomain: '',
      gatewayClass: '',
      gatewayPort: 8443,
    },
    grants: { enabled: true, autoconfigure: true, baseUrl: '', port: 9090, tlsCredentials: 'skupper-grant-server', podName: '' },
  };
}
