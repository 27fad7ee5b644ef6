import { Option, type Command } from 'commander';
import { ROUTER, ROUTER_PORTS } from '../../api/skupper/cluster-names.ts';
import { logLevels } from '../../telemetry/log.ts';
import type { RouterCommand } from '../processes/run-router.ts';
import { untilStopped } from '../processes/signals.ts';
import { applyV8Flags } from '../processes/v8-flags.ts';
import { examples, portNumber } from './options.ts';
import { drainOption, memoryOption, recordsOption } from './router-options.ts';

type RouterOptions = Omit<RouterCommand, 'drainSeconds'> & {
  /** Drain timeout in milliseconds. */
  readonly drainTimeout: number;
};

/** `earshot router`. */
export function addRouter(program: Command): void {
  const { env } = process;
  const { http, metrics, api } = ROUTER_PORTS;
  program
    .command('router')
    .description("run a router of the namespace's site; runs in the pods that the controller of sites creates")
    .requiredOption('--namespace <name>', 'namespace of the site', env['POD_NAMESPACE'])
    .requiredOption('--pod <name>', 'name of this pod and of the router', env['POD_NAME'])
    .option('--group <name>', 'group of this router: its Deployment', env['ROUTER_GROUP'] ?? ROUTER)
    .option('--site-uid <uid>', 'UID of the Site that this pod serves (default: from the controller of sites)', env['SITE_UID'])
    .addOption(new Option('--http-port <number>', 'port of /metrics, /livez and /readyz').argParser(portNumber).default(http))
    .addOption(new Option('--metrics-port <number>', 'second address that serves the same paths').argParser(portNumber).default(metrics))
    .addOption(new Option('--api-port <number>', 'address of the router API').argParser(portNumber).default(api))
    .option('--kubeconfig <path>', "kubeconfig file for the API server (default: the pod's service account)")
    .addOption(drainOption(25))
    .addOption(memoryOption())
    .addOption(recordsOption())
    .addOption(new Option('--log-level <level>').choices(logLevels).default('info'))
    .addHelpText('after', examples('earshot router --namespace west --pod $(hostname) --kubeconfig ~/.kube/config'))
    .addHelpText('after', '\nResources and Secrets may change while it runs. SIGTERM stops it gracefully.')
    .action(async ({ drainTimeout, ...options }: RouterOptions) => {
      applyV8Flags();
      const { runRouter } = await import('../processes/run-router.ts');
      await runRouter({ ...options, drainSeconds: drainTimeout / 1000 }, untilStopped());
    });
}
