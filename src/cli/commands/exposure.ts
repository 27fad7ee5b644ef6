import { InvalidArgumentError, Option, type Command } from 'commander';
import { parseClusterDomain } from '../../exposure/cluster-domain.ts';
import { presetNames } from '../../exposure/presets.ts';
import { logLevels } from '../../telemetry/log.ts';
import { portNumber, positiveInteger } from './options.ts';
import { untilStopped } from '../processes/signals.ts';

/** The two processes of the exposure half. They run in a cluster. */
export function addExposure(program: Command): void {
  program
    .command('controller')
    .description('reconcile Listeners and create the volumes that mount them; runs as a Deployment, one replica leads')
    .requiredOption('--namespace <name>', 'namespace of the Lease by which one replica leads', process.env['POD_NAMESPACE'])
    .requiredOption('--identity <name>', 'name of this replica, unique among them', process.env['POD_NAME'])
    .option(
      '--csi-socket <path>',
      'Unix socket for an external-provisioner, which then creates the volumes (default: this process creates them)',
    )
    .option('--cluster-domain <name>', "domain of the cluster's DNS (default: from /etc/resolv.conf, or cluster.local)", clusterDomain)
    .addOption(new Option('--preset <name>', 'ListenerClasses to create if they are absent').choices(presetNames).default('none'))
    .option('--no-leader-election', 'lead without a lease; only for a single replica')
    .option('--no-manage-crds', 'leave the CustomResourceDefinitions as they are')
    .option('--concurrency <number>', 'number of parallel reconciles of each kind', positiveInteger, 32)
    .addOption(httpPort(8080))
    .addOption(kubeconfig())
    .addOption(logLevel())
    .addHelpText('after', '\nExample:\n  earshot controller --namespace earshot --identity $(hostname) --preset stable-nodes')
    .action(async (options) => (await import('../processes/controller.ts')).runController(options, untilStopped()));

  program
    .command('csi-node')
    .description('mount listener volumes into the pods of one node; runs as a DaemonSet')
    .requiredOption('--node-name <name>', 'Node that this process runs on', process.env['NODE_NAME'])
    .option('--kubelet-dir <path>', 'root directory of the kubelet (its --root-dir)', '/var/lib/kubelet')
    .addOption(httpPort(8081))
    .addOption(kubeconfig())
    .addOption(logLevel())
    .addHelpText('after', '\nExample:\n  earshot csi-node --node-name $(hostname)')
    .action(async (options) => (await import('../processes/csi-node.ts')).runCsiNode(options, untilStopped()));
}

function clusterDomain(text: string): string {
  const domain = parseClusterDomain(text);
  if (domain === undefined) throw new InvalidArgumentError('It must be a DNS name such as cluster.local.');
  return domain;
}

function httpPort(port: number): Option {
  return new Option('--http-port <number>', 'port of /metrics, /livez and /readyz').argParser(portNumber).default(port);
}

function kubeconfig(): Option {
  return new Option('--kubeconfig <path>', "kubeconfig file for the API server (default: the pod's service account)");
}

function logLevel(): Option {
  return new Option('--log-level <level>').choices(logLevels).default('info');
}
