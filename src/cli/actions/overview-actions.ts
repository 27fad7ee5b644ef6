import { commandIn, type CommandPlace } from '../../text/command-in.ts';
import { isPast, networkOverview, overviewKinds, siteOverview, type KeyOverview, type NetworkSite } from '../../site/overview.ts';
import type { SiteObject } from '../../site/resources.ts';
import type { SkupperKind } from '../../api/skupper/index.ts';
import { CliError } from '../errors.ts';
import { fieldLines, resourceTable, structured, table, type OutputFormat } from '../output/output.ts';
import { noSite } from './site-actions.ts';
import { noteWhereStopped, type Context } from './waiting.ts';
import { printable } from '../../text/printable.ts';

export async function showOverview({ resources: all, terminal }: Context, output: OutputFormat | undefined): Promise<void> {
  const { namespace } = all;
  const kinds = ['Site', ...overviewKinds] as const;
  const [{ kept, running, routers, problems, troubles }, ...lists] = await Promise.all([
    all.about(),
    ...kinds.map((kind) => all.list(kind)),
  ]);
  const { sites, resources } = siteOverview(lists.flat());
  if (output !== undefined) {
    terminal.out(structured({ namespace, routers, problems, sites, resources: resources.flatMap(({ items }) => items) }, output));
    return;
  }
  const [site] = sites;
  const missing = site === undefined ? noSite(all).message : undefined;
  if (missing !== undefined) terminal.note(`${missing}\n`);
  const advice = await all.notRunning();
  if (advice !== undefined && advice !== missing) terminal.note(`${advice}\n`);
  terminal.out(
    fieldLines([
      ['Namespace', namespace],
      kept,
      ['Site', site?.metadata.name],
      ['Status', site?.status?.status],
      ['Message', site?.status?.message],
      ['Sites in network', site?.status?.sitesInNetwork],
      ['Running', running.join(', ')],
    ]),
  );
  for (const { kind, items } of resources) terminal.out(section(kind, items, all));
  if (troubles !== undefined && troubles.lines.length > 0)
    terminal.out(`\n${troubles.title}\n${troubles.lines.map((line) => `  ${printable(line)}\n`).join('')}`);
}

/** Without what is only kept, of which a line says how much there is. */
function section(kind: SkupperKind, items: readonly SiteObject[], place: CommandPlace): string {
  const now = Date.now();
  const current = items.filter((item) => !isPast(item, now));
  const past = items.length - current.length;
  const shown = current.length === 0 ? '' : `\n${kind}${kind.endsWith('s') ? 'es' : 's'}\n${resourceTable(kind, current)}`;
  // A token that has become a Link stands there as that.
  if (past === 0 || kind === 'AccessToken') return shown;
  return `${shown}\n${counted(past, kind)} used up or expired: ${commandIn(place, 'token status')}\n`;
}

export async function showNetwork(context: Context, output: OutputFormat | undefined): Promise<void> {
  const { resources, terminal } = context;
  const { namespace } = resources;
  // As it was last seen, also where nothing runs any more.
  const site = await resources.lastSeen();
  const network = site?.status?.network;
  await noteWhereStopped(context);
  if (site === undefined || network === undefined) {
    throw new CliError(
      'not-found',
      `The site of the namespace ${namespace} has not seen a network yet; look with ${commandIn(resources, 'status')}.`,
    );
  }
  if (output !== undefined) {
    terminal.out(structured(network, output));
    return;
  }
  const { sites, keys } = networkOverview(network, { name: site.metadata.name, namespace });
  terminal.out(`${sites.map(siteTree).join('')}\n${keyTable(keys)}`);
}

function siteTree({ name, id, namespace, platform, version, isThis, links, keys }: NetworkSite): string {
  const facts = [platform, version, `namespace ${namespace}`, id].filter((part) => part !== '').join(', ');
  const lines = [
    ...[...Map.groupBy(links, ({ to, operational }) => `${to}${operational ? '' : ', down'}`)].map(
      ([where, { length }]) => `${length === 1 ? 'link' : `${length} links`} to ${where}`,
    ),
    ...keys.map(
      ({ routingKey, connectors, listeners }) =>
        `key ${routingKey}: ${counted(connectors, 'connector')}, ${counted(listeners, 'listener')}`,
    ),
  ];
  const branches = lines.map((line, index) => `${index === lines.length - 1 ? '└─' : '├─'} ${printable(line)}`);
  return `${[printable(`${name} (${facts})${isThis ? ', this site' : ''}`), ...branches].join('\n')}\n`;
}

function keyTable(keys: readonly KeyOverview[]): string {
  const rows = keys.map(({ routingKey, connectorsAt, listenersAt }) => [
    routingKey,
    connectorsAt.join(', ') || '-',
    listenersAt.join(', ') || '-',
  ]);
  return rows.length === 0
    ? 'No routing key has a listener or a connector yet.\n'
    : table(['ROUTING-KEY', 'CONNECTORS-AT', 'LISTENERS-AT'], rows);
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}
