import { InvalidArgumentError, Option, type Command } from 'commander';
import type { ConsoleOptions } from '../actions/console-action.ts';
import type { Terminal } from '../output/terminal.ts';
import { byteSize } from '../../text/byte-size.ts';
import { applyV8Flags } from '../processes/v8-flags.ts';
import { addPlace, examples, onMachine, placeWords, portNumber } from './options.ts';

/** `earshot console`. */
export function addConsole(program: Command, terminal: Terminal): void {
  const serve = addPlace(
    program
      .command('console')
      .description('serve a page that shows a site: problems, network, services and trust')
      .addOption(new Option('--port <number>', 'port on the loopback address; 0 for any free one').argParser(portNumber).default(0))
      .addOption(publicUrlOption())
      .addOption(new Option('--in-cluster', 'serve users of the cluster, who sign in with their tokens; for the pod of a console'))
      .addOption(new Option('--tls <directory>', 'directory with tls.crt and tls.key, to listen on all addresses; needs --in-cluster'))
      .addOption(new Option('--users <file>', 'htpasswd file of users, who sign in with passwords, not tokens; needs --in-cluster'))
      .addOption(
        new Option('--proxy-ca <file>', 'CA certificate of proxies that name users in X-Remote-User and X-Remote-Group; needs --tls'),
      )
      .addOption(
        new Option('--history-memory <size>', 'memory for history, such as 32Mi').argParser(historyMemory).default(96 * 2 ** 20, '96Mi'),
      )
      .addOption(historyOption())
      .option('--service', 'print no link; `earshot console link` prints one'),
  )
    .addHelpText(
      'after',
      examples(
        'earshot console',
        'earshot -n west console --port 8090',
        'earshot console --public-url http://localhost:9000',
        'earshot -n west console --platform kubernetes',
      ),
    )
    .addHelpText(
      'after',
      '\nIt prints a link that works once, within five minutes. On a terminal, Enter prints another one. The page cannot change anything.',
    )
    .action(async (options: ConsoleOptions, command: Command) => {
      applyV8Flags();
      const [{ runConsole }, { untilStopped }] = await Promise.all([
        import('../actions/console-action.ts'),
        import('../processes/signals.ts'),
      ]);
      await runConsole(placeWords(command), terminal, options, untilStopped());
    });
  addPlace(serve.command('link').description('print a link to the console service of the namespace, which works once'))
    .addHelpText('after', examples('earshot -n west console link'))
    .addHelpText('after', '\n`earshot system network-observer` starts that service.')
    .action(async (_options: object, command: Command) => {
      const namespace = await onMachine(command, 'console link');
      const [{ printConsoleLink }, { layoutOf }] = await Promise.all([
        import('../actions/console-links.ts'),
        import('../../platform/linux/layout.ts'),
      ]);
      await printConsoleLink(layoutOf(namespace), terminal);
    });
}

export const historyOption = (): Option =>
  new Option('--history <file>', 'file that keeps history over restarts, at most 256 MiB (default: it ends with the console)');

export const publicUrlOption = (): Option =>
  new Option('--public-url <url>', 'further address of the page, such as that of a proxy or an SSH tunnel; repeatable')
    .argParser(publicUrl)
    .default([], 'none');

function publicUrl(text: string, before: readonly URL[]): readonly URL[] {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '')
    throw new InvalidArgumentError('It must be a URL such as https://console.example.com/west.');
  return [...before, url];
}

function historyMemory(text: string): number {
  const bytes = byteSize(text);
  if (bytes === undefined || bytes < 2 ** 20 || bytes > 2 ** 30) throw new InvalidArgumentError('It must be a size from 1Mi to 1Gi.');
  return bytes;
}
