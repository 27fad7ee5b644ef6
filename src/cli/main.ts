#!/usr/bin/env node
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { presetNames } from '../listener/presets.ts';
import { logLevels, messageOf } from '../telemetry/log.ts';

/** Commands are loaded when they are run: each process holds only what it needs. */
const program = new Command('earshot')
  .description('Puts workloads within reach: stable, known addresses for pods.')
  .showHelpAfterError('(run with --help for the options)')
  .exitOverride();

program
  .command('controller')
  .description('reconcile Listeners and answer the CSI provisioner; runs as a Deployment, one replica leads')
  .requiredOption('--namespace <name>', 'namespace of the Lease by which one replica leads', process.env['POD_NAMESPACE'])
  .requiredOption('--identity <name>', 'name of this replica, unique among them', process.env['POD_NAME'])
  .option('--csi-socket <path>', 'serve the CSI controller service on this Unix socket')
  .option('--cluster-domain <name>', 'domain of the cluster\'s DNS', 'cluster.local')
  .addOption(new Option('--preset <name>', 'ListenerClasses to make if they are absent').choices(presetNames).default('none'))
  .option('--no-leader-election', 'lead at once; only for a single replica')
  .option('--no-manage-crds', 'leave the CustomResourceDefinitions as they are')
  .option('--concurrency <number>', 'reconciles of one kind that run at once', positiveInteger, 32)
  .addOption(httpPort(8080))
  .addOption(kubeconfig())
  .addOption(logLevel())
  .addHelpText('after', '\nExample:\n  earshot controller --namespace earshot --identity $(hostname) --preset stable-nodes')
  .action(async (options) => (await import('./controller.ts')).runController(options, untilStopped()));

program
  .command('csi-node')
  .description('mount listener volumes into the pods of one node; runs as a DaemonSet')
  .requiredOption('--node-name <name>', 'the Node that this process runs on', process.env['NODE_NAME'])
  .option('--kubelet-dir <path>', 'the kubelet\'s root directory (its --root-dir)', '/var/lib/kubelet')
  .addOption(httpPort(8081))
  .addOption(kubeconfig())
  .addOption(logLevel())
  .addHelpText('after', '\nExample:\n  earshot csi-node --node-name $(hostname)')
  .action(async (options) => (await import('./csi-node.ts')).runCsiNode(options, untilStopped()));

function httpPort(port: number): Option {
  return new Option('--http-port <number>', 'port of /metrics, /livez and /readyz').argParser(portNumber).default(port);
}

function kubeconfig(): Option {
  return new Option('--kubeconfig <path>', 'reach the API server as this file says; left out: as a pod\'s service account');
}

function logLevel(): Option {
  return new Option('--log-level <level>').choices(logLevels).default('info');
}

function positiveInteger(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new InvalidArgumentError('It must be a whole number from 1.');
  return Number(text);
}

function portNumber(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (!(port <= 65_535)) throw new InvalidArgumentError('It must be a port number, 0 to 65535.');
  return port;
}

/** Aborted by the first SIGTERM or SIGINT. A second one ends the process at once, as impatient people expect. */
function untilStopped(): AbortSignal {
  const stop = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => {
      process.once(signal, () => process.exit(1));
      stop.abort();
    });
  }
  return stop.signal;
}

try {
  await program.parseAsync();
} catch (error) {
  // Commander has printed its own words already.
  if (!(error instanceof CommanderError)) process.stderr.write(`earshot: ${messageOf(error)}\n`);
  process.exitCode = error instanceof CommanderError ? (error.exitCode === 0 ? 0 : 2) : 1;
}
