import { Option, type Command } from 'commander';
import { logLevels, type LogLevel } from '../../telemetry/log.ts';
import { examples, namespaceOf, namespaceOption, portNumber } from './options.ts';
import { untilStopped } from '../processes/signals.ts';
import { applyV8Flags } from '../processes/v8-flags.ts';
import { drainOption, memoryOption, recordsOption } from './router-options.ts';

interface RunOptions {
  readonly router?: string;
  readonly network?: string;
  readonly httpPort: number;
  readonly logLevel: LogLevel;
  readonly drainTimeout: number;
  readonly memory?: number;
  readonly records: number;
  readonly supervised?: number | true;
}

/** `earshot run`. */
export function addRun(program: Command): void {
  program
    .command('run')
    .description('run the site of the namespace, in the foreground')
    .option('--router <name>', 'run only one router of this name (default: settings.routers of the Site decides how many run)')
    .option('--network <name>', 'serve the part of the site in this container network; settings.networks of the Site lists it')
    .addOption(
      new Option('--http-port <number>', 'loopback port of /metrics, /livez and /readyz; 0 for any').argParser(portNumber).default(0),
    )
    .addOption(drainOption(30))
    .addOption(memoryOption())
    .addOption(recordsOption())
    .addOption(new Option('--log-level <level>').choices(logLevels).default('info'))
    .addOption(namespaceOption())
    // For the supervisor's own routers, which notify it. A supervisor of an earlier version does not say how many routers the site has.
    .addOption(new Option('--supervised [routers]').argParser(Number).hideHelp())
    .addHelpText(
      'after',
      examples(
        'earshot run',
        'earshot -n west run --http-port 9100',
        'earshot -n west run --router second',
        'earshot -n west run --network apps',
      ),
    )
    .addHelpText('after', '\nFiles below input/ may change while it runs. SIGHUP reads all files again. SIGTERM stops it gracefully.')
    .action(async ({ router, network, httpPort, logLevel, drainTimeout, memory, records, supervised }: RunOptions, command: Command) => {
      applyV8Flags();
      // Without a handler SIGHUP would end the process. No reload is needed during start, which reads all files, or during
      // shutdown.
      process.on('SIGHUP', () => {});
      const { requireOwnNamespace } = await import('../own-namespace.ts');
      await requireOwnNamespace(namespaceOf(command));
      const common = {
        namespace: namespaceOf(command),
        ...(memory === undefined ? {} : { memory }),
        httpPort,
        logLevel,
        drainSeconds: drainTimeout / 1000,
        records,
      };
      if (router === undefined && network === undefined) {
        const { superviseSite } = await import('../processes/supervise-site.ts');
        return superviseSite(common, untilStopped());
      }
      const { runSite } = await import('../processes/run-site.ts');
      const which = { ...(router === undefined ? {} : { router }), ...(network === undefined ? {} : { network }) };
      if (supervised === undefined) return runSite({ ...common, ...which }, untilStopped());
      const { followSupervisor } = await import('../processes/follow-supervisor.ts');
      const stop = untilStopped();
      const { ended, ...asked } = followSupervisor();
      return runSite(
        { ...common, ...which, supervised: { ...asked, ...(supervised === true ? {} : { routers: supervised }) } },
        AbortSignal.any([stop, ended]),
      );
    });
}
