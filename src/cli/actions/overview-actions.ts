import { commandIn, type CommandPlace } from '../../text/command-in.ts';
import {
  headline,
  isPast,
  listNotReady,
  networkOverview,
  overviewKinds,
  plural,
  quietKinds,
  siteOverview,
  type KeyOverview,
  type NetworkSite,
} from '../../site/overview.ts';
import type { SiteObject } from '../../site/resources.ts';
import type { IncomingLink, SkupperKind } from '../../api/skupper/index.ts';
import { CliError } from '../errors.ts';
import { fieldLines, resourceTable, structured, table, type OutputFormat } from '../output/output.ts';
import { noSite } from './site-actions.ts';
import type { Context } from './waiting.ts';
import { printable } from '../../text/printable.ts';
import { listSome } from '../../text/list-some.ts';

export interface OverviewOptions {
  readonly output?: OutputFormat;
  /** Whether to fail if anything is not ready. */
  readonly check?: boolean;
}

/** @throws CliError if `check` is set: not-running if nothing runs the site, otherwise failed if anything is not ready */
export async function showOverview({ resources: all, terminal }: Context, { output, check }: OverviewOptions): Promise<void> {
  const { namespace } = all;
  const kinds = ['Site', ...overviewKinds, ...quietKinds] as const;
  const [{ location, running, routers, problems, problemText }, ...lists] = await Promise.all([
    all.about(),
    ...kinds.map((kind) => all.list(kind)),
  ]);
  const { sites, resources } = siteOverview(lists.flat());
  const notReady = listNotReady(lists.flat(), Date.now());
  const [site] = sites;
  const missing = site === undefined ? noSite(all).message : undefined;
  const advice = await all.notRunning();
  const faults = [
    ...[missing, advice].filter((fault) => fault !== undefined),
    ...(notReady.length === 0 ? [] : [`Not ready: ${listed(notReady.map(({ kind, name }) => `${kind}/${name}`))}.`]),
    ...(problems.some(isError) ? ['Some files cannot be used.'] : []),
  ];
  if (output !== undefined) {
    const items = resources.flatMap((of) => of.items);
    terminal.out(structured({ namespace, ready: faults.length === 0, notReady, routers, problems, sites, resources: items }, output));
    if (check === true) requireNone(faults, advice !== undefined);
    return;
  }
  // With `check`, the error says so.
  const notes = check === true ? [] : new Set([missing, advice]);
  for (const note of notes) if (note !== undefined) terminal.note(`${note}\n`);
  terminal.out(
    fieldLines([
      ['Namespace', namespace],
      location,
      ['Site', site?.metadata.name],
      ['Status', headline(site?.status?.status, notReady)],
      ['Message', site?.status?.message],
      ['Sites in network', site?.status?.sitesInNetwork],
      ['Incoming links', advice === undefined ? incomingText(site?.status?.incomingLinks ?? [], all) : undefined],
      ['Running', running.join(', ')],
    ]),
  );
  for (const { kind, items } of resources) terminal.out(section(kind, items, all));
  if (problemText !== undefined && problemText.lines.length > 0)
    terminal.out(`\n${problemText.title}\n${problemText.lines.map((line) => `  ${printable(line)}\n`).join('')}`);
  const others = notReady.filter(({ kind, name }) =>
    kind === 'Site' ? name !== site?.metadata.name : quietKinds.some((quiet) => quiet === kind),
  );
  for (const { kind, name, status, message } of others)
    terminal.out(`\n${printable(`${kind} "${name}" is ${status}${message === '' ? '' : `: ${message}`}`)}\n`);
  if (check === true) requireNone(faults, advice !== undefined);
}

/** Counts the links from other sites, since no object of this site shows them. Undefined without such links. */
function incomingText(links: readonly IncomingLink[], place: CommandPlace): string | undefined {
  // Only a silent link that is up has a message.
  const counts = Map.groupBy(links, ({ operational, message }) =>
    operational !== true ? 'down' : message === undefined ? 'up' : 'silent',
  );
  const parts = (['up', 'silent', 'down'] as const).flatMap((state) => {
    const count = counts.get(state)?.length ?? 0;
    return count === 0 ? [] : [`${count} ${state}`];
  });
  if (parts.length === 0) return undefined;
  return counts.size === 1 && counts.has('up') ? parts.join() : `${parts.join(', ')}; see ${commandIn(place, 'link status')}`;
}

const isError = (problem: object): boolean => 'severity' in problem && problem.severity === 'error';

/** Maximum number of listed names. Further names are only counted. */
const MOST_NAMES = 20;

function listed(names: readonly string[]): string {
  return listSome(
    names.map((name) => printable(name)),
    MOST_NAMES,
  );
}

/** @throws CliError not-running, failed */
function requireNone(faults: readonly string[], isStopped: boolean): void {
  if (faults.length > 0) throw new CliError(isStopped ? 'not-running' : 'failed', faults.join(' '));
}

/** A table of current items, and the number of past ones, which are only kept as records. */
function section(kind: SkupperKind, items: readonly SiteObject[], place: CommandPlace): string {
  const now = Date.now();
  const current = items.filter((item) => !isPast(item, now));
  const past = items.length - current.length;
  const shown = current.length === 0 ? '' : `\n${plural(kind)}\n${resourceTable(kind, current)}`;
  // A token that became a Link is shown as that Link.
  if (past === 0 || kind === 'AccessToken') return shown;
  return `${shown}\n${counted(past, kind)} used up or expired: ${commandIn(place, 'token status')}\n`;
}

/** @throws CliError not-running, or not-found if the site does not know its network yet */
export async function showNetwork({ resources, terminal }: Context, output: OutputFormat | undefined): Promise<void> {
  const { namespace } = resources;
  // The last known state, even if nothing runs any more.
  const site = await resources.lastSeen();
  const network = site?.status?.network;
  const stopped = await resources.notRunning();
  if (site === undefined || network === undefined) {
    if (stopped !== undefined) throw new CliError('not-running', stopped);
    throw new CliError(
      'not-found',
      `The site of the namespace ${namespace} does not know its network yet. Check the site with ${commandIn(resources, 'status')}.`,
    );
  }
  if (stopped !== undefined) terminal.note(`${stopped}\n`);
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
  return rows.length === 0 ? 'No listener or connector exists yet.\n' : table(['ROUTING-KEY', 'CONNECTORS-AT', 'LISTENERS-AT'], rows);
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}
