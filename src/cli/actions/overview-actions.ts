import { layoutOf } from '../../platform/linux/layout.ts';
import { runningRouters } from '../../platform/linux/routers.ts';
import { listRuntime, readProblems } from '../../platform/linux/runtime-resources.ts';
import { locationText } from '../../platform/linux/report.ts';
import { networkOverview, overviewKinds, siteOverview, type KeyOverview, type NetworkSite } from '../../site/overview.ts';
import { CliError } from '../errors.ts';
import { fieldLines, resourceTable, structured, table, type OutputFormat } from '../output/output.ts';
import { noteWhereStopped, type Context } from './waiting.ts';
import { printable } from '../../text/printable.ts';

export async function showOverview({ resources: all, terminal }: Context, output: OutputFormat | undefined): Promise<void> {
  const { namespace } = all;
  const layout = layoutOf(namespace);
  const kinds = ['Site', ...overviewKinds] as const;
  const [routers, problems, ...lists] = await Promise.all([
    runningRouters(layout),
    readProblems(layout),
    ...kinds.map((kind) => all.list(kind)),
  ]);
  const { sites, resources } = siteOverview(lists.flat());
  if (output !== undefined) {
    terminal.out(structured({ namespace, routers, problems, sites, resources: resources.flatMap(({ items }) => items) }, output));
    return;
  }
  const [site] = sites;
  if (site === undefined) terminal.note(`The namespace ${namespace} has no site yet: make one with \`earshot site create NAME\`.\n`);
  await noteWhereStopped({ resources: all, terminal });
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
      `\nProblems with files below ${layout.input.root}\n${problems.map((problem) => `  ${printable(locationText(problem))}\n`).join('')}`,
    );
}

export async function showNetwork(context: Context, output: OutputFormat | undefined): Promise<void> {
  const { resources, terminal } = context;
  const { namespace } = resources;
  // As it was last seen, also where nothing runs any more.
  const [site] = await listRuntime(layoutOf(namespace), 'Site');
  const network = site?.status?.network;
  await noteWhereStopped(context);
  if (site === undefined || network === undefined) {
    throw new CliError('not-found', `The site of the namespace ${namespace} has not seen a network yet; look with \`earshot status\`.`);
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
    ...links.map(({ to, operational }) => `link to ${to}${operational ? '' : ', down'}`),
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
