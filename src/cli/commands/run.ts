import { InvalidArgumentError, Option, type Command } from 'commander';
import { logLevels, type LogLevel } from '../../telemetry/log.ts';
import { duration, examples, namespaceOf, namespaceOption, portNumber } from './options.ts';
import { byteSize } from '../../text/byte-size.ts';
import { untilStopped } from '../processes/signals.ts';

interface RunOptions {
  readonly router?: string;
  readonly httpPort: number;
  readonly logLevel: LogLevel;
  readonly drainTimeout: number;
  readonly memory?: number;
}

/** Bytes. With less a router does not run. */
const LEAST_MEMORY = 128 << 20;

/** `earshot run`. */
export function addRun(program: Command): void {
  program
    .command('run')
    .description('run the site of the namespace, in the foreground')
    .option('--router <name>', 'which router of the site, where several run')
    .addOption(
      new Option('--http-port <number>', 'loopback port of /metrics, /livez and /readyz; 0 for any').argParser(portNumber).default(0),
    )
    .addOption(
      new Option('--drain-timeout <duration>', 'how long open connections may go on after SIGTERM')
        .argParser(drainTime)
        .default(30_000, '30s'),
    )
    .addOption(
      new Option(
        '--memory <size>',
        'what the process may use, such as 512Mi; left out: what the machine has, or its control group allows',
      ).argParser(memory),
    )
    .addOption(new Option('--log-level <level>').choices(logLevels).default('info'))
    .addOption(namespaceOption())
    .addHelpText('after', examples('earshot run', 'earshot -n west run --http-port 9100', 'earshot -n west run --router second'))
    .addHelpText('after', '\nFiles below input/ may change while it runs. SIGHUP reads them all again, SIGTERM ends it in order.')
    .action(async ({ router, httpPort, logLevel, drainTimeout, memory: most }: RunOptions, command: Command) => {
      const { runSite } = await import('../processes/run-site.ts');
      const given = { ...(router === undefined ? {} : { router }), ...(most === undefined ? {} : { memory: most }) };
      await runSite({ namespace: namespaceOf(command), ...given, httpPort, logLevel, drainSeconds: drainTimeout / 1000 }, untilStopped());
    });
}

function memory(text: string): number {
  const bytes = byteSize(text);
  if (bytes === undefined || bytes < LEAST_MEMORY) throw new InvalidArgumentError('It must be a size like 512Mi or 2Gi, 128Mi at least.');
  return bytes;
}

function drainTime(text: string): number {
  if (/^0s?$/.test(text)) return 0;
  const milliseconds = duration(text);
  if (milliseconds > 86_400_000) throw new InvalidArgumentError('It must be a day at most.');
  return milliseconds;
}
