import { Option, type Command } from 'commander';
import type { ConnectionWords } from '../actions/debug-connections.ts';
import type { Terminal } from '../output/terminal.ts';
import { addPlace, duration, examples, outputOption, placeWords, positiveInteger } from './options.ts';

/** `earshot debug`. */
export function addDebug(program: Command, terminal: Terminal): void {
  const debug = program.command('debug').description('collect information about problems');
  addDump(debug, terminal);
  addConnections(debug, terminal);
}

function addDump(debug: Command, terminal: Terminal): void {
  addPlace(
    debug
      .command('dump')
      .description('write an archive with resources, statuses, metrics, logs and versions, but without keys, codes and tokens')
      .argument('[file]', 'path of the archive (default: skupper-dump); namespace and time follow a name without extension'),
  )
    .addHelpText('after', examples('earshot -n west debug dump west.tar.gz'))
    .addHelpText('after', '\nIt contains names, hosts and routing keys: review it before you share it.')
    .action(async (file: string | undefined, _options: object, command: Command) => {
      const { dump } = await import('../actions/debug-actions.ts');
      await dump(placeWords(command), file, terminal);
    });
}

function addConnections(debug: Command, terminal: Terminal): void {
  addPlace(
    debug
      .command('conn')
      .description("list connections of the site's routers, show one, or end one")
      .argument('[id]', 'ID of a connection; it is the same at all routers, and in their logs')
      .addOption(
        new Option('--state <state>', 'open, ended, or failed: no server accepted it (default: open; all of one ID)').choices([
          'open',
          'ended',
          'failed',
        ]),
      )
      .option('--key <key>', 'only those of this routing key')
      .option('--site <site>', 'only those from or to this site, by name or ID')
      .addOption(
        new Option('--age <duration>', 'only those that are at least this old; ended ones: that lasted this long').argParser(duration),
      )
      .addOption(new Option('--idle <duration>', 'only open ones without bytes for at least this time').argParser(duration))
      .addOption(new Option('--limit <number>', 'number of connections').argParser(positiveInteger).default(100))
      .option('--end', 'end the connection of this ID: both ends are reset')
      .addOption(outputOption()),
  )
    .addHelpText(
      'after',
      examples(
        'earshot debug conn',
        'earshot debug conn --key web --idle 10m',
        'earshot debug conn --state failed',
        'earshot debug conn k3x9qa1f --end',
      ),
    )
    .addHelpText(
      'after',
      '\nThe routers keep the last ended and failed connections. The option --records of `earshot run` sets how many. In a cluster, the ' +
        'command needs a Certificate with the setting `purpose: api`, or `purpose: api-control` to end a connection.',
    )
    .action(async (id: string | undefined, options: ConnectionWords, command: Command) => {
      const [{ debugConnections }, { openSiteRouters }] = await Promise.all([
        import('../actions/debug-connections.ts'),
        import('../actions/site-routers.ts'),
      ]);
      await using site = await openSiteRouters(placeWords(command));
      await debugConnections(site, id, options, terminal);
    });
}
