import type { SiteRecord, SkupperKind } from '../../api/skupper/index.ts';
import { layoutOf } from '../../platform/linux/layout.ts';
import { placeText } from '../../platform/linux/report.ts';
import { CliError } from '../errors.ts';
import type { OutputFormat } from '../commands/options.ts';
import { fieldLines, resourceTable, structured, table } from '../output/output.ts';
import { resourcesOf } from './resource-actions.ts';
import { readProblems, runningRouters } from './runtime-files.ts';
import { printable, type Terminal } from '../output/terminal.ts';
import { notRunning, runtimeSite } from './waiting.ts';

const shown = [
  'Link',
  'Listener',
  'MultiKeyListener',
  'Connector',
  'RouterAccess',
  'AccessGrant',
] as const satisfies readonly SkupperKind[];

export async function showOverview(namespace: string, output: OutputFormat | undefined, terminal: Terminal): Promise<void> {
  const layout = layoutOf(namespace);
  const [sites, routers, problems, ...lists] = await Promise.all([
    resourcesOf(layout, 'Site'),
    runningRouters(layout),
    readProblems(layout),
    ...shown.map((kind) => resourcesOf(layout, kind)),
  ]);
  const resources = shown.map((kind, index) => ({ kind, items: lists[index] ?? [] })).filter(({ items }) => items.length > 0);
  if (output !== undefined) {
    terminal.out(structured({ namespace, routers, problems, sites, resources: resources.flatMap(({ items }) => items) }, output));
    return;
  }
  const [site] = sites;
  if (site === undefined) terminal.note(`The namespace ${namespace} has no site yet: make one with \`earshot site create NAME\`.\n`);
  if (routers.length === 0) terminal.note(notRunning(layout));
  terminal.out(
    fieldLines([
      ['Namespace', namespace],
      ['Directory', layout.root],
      ['Site', site?.metadata.name],
      ['Status', site?.status?.status],
      ['Message', site?.status?.message],
      ['Sites in network', site?.status?.sitesInNetwork],
      ['Running', routers.map(({ router, pid, version }) => `${router} (process ${pid}, version ${version})`).join(', ')],
    ]),
  );
  for (const { kind, items } of resources) terminal.out(`\n${kind}${kind.endsWith('s') ? 'es' : 's'}\n${resourceTable(kind, items)}`);
  if (problems.length > 0)
    terminal.out(
      `\nProblems with files below ${layout.input.root}\n${problems.map((problem) => `  ${printable(placeText(problem))}\n`).join('')}`,
    );
}

export async function showNetwork(namespace: string, output: OutputFormat | undefined, terminal: Terminal): Promise<void> {
  const layout = layoutOf(namespace);
  const site = await runtimeSite(layout);
  const network = site?.status?.network;
  if ((await runningRouters(layout)).length === 0) terminal.note(notRunning(layout));
  if (site === undefined || network === undefined) {
    throw new CliError('not-found', `The site of the namespace ${namespace} has not seen a network yet; look with \`earshot status\`.`);
  }
  if (output !== undefined) {
    terminal.out(structured(network, output));
    return;
  }
  terminal.out(network.map((record) => siteTree(record, record.name === site.metadata.name && record.namespace === namespace)).join(''));
  terminal.out(`\n${keyTable(network)}`);
}

function siteTree(
  { name = '', id = '', namespace = '', platform = '', version = '', links = [], services = [] }: SiteRecord,
  isThis: boolean,
): string {
  const facts = [platform, version, `namespace ${namespace}`, id].filter((part) => part !== '').join(', ');
  const head = `${name} (${facts})${isThis ? ', this site' : ''}`;
  const lines = [
    ...links.map(linkLine),
    ...services.map(
      ({ routingKey = '', connectors = [], listeners = [] }) =>
        `key ${routingKey}: ${counted(connectors, 'connector')}, ${counted(listeners, 'listener')}`,
    ),
  ];
  const branches = lines.map((line, index) => `${index === lines.length - 1 ? '└─' : '├─'} ${printable(line)}`);
  return `${[printable(head), ...branches].join('\n')}\n`;
}

/** Its name in the network is a number that means nothing to people; programs have it by -o json. */
function linkLine({ remoteSiteName, remoteSiteId, operational }: NonNullable<SiteRecord['links']>[number]): string {
  return `link to ${remoteSiteName ?? remoteSiteId ?? 'an unknown site'}${operational === false ? ', down' : ''}`;
}

/** Each routing key, and at which sites it has what. */
function keyTable(network: readonly SiteRecord[]): string {
  const uses = network.flatMap(({ name = '', services = [] }) => services.map((service) => ({ site: name, ...service })));
  const rows = [...Map.groupBy(uses, ({ routingKey = '' }) => routingKey)]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([key, of]) => [
      key,
      of
        .filter(({ connectors = [] }) => connectors.length > 0)
        .map(({ site }) => site)
        .join(', ') || '-',
      of
        .filter(({ listeners = [] }) => listeners.length > 0)
        .map(({ site }) => site)
        .join(', ') || '-',
    ]);
  return rows.length === 0
    ? 'No routing key has a listener or a connector yet.\n'
    : table(['ROUTING-KEY', 'CONNECTORS-AT', 'LISTENERS-AT'], rows);
}

function counted(list: readonly unknown[], what: string): string {
  return `${list.length} ${what}${list.length === 1 ? '' : 's'}`;
}
