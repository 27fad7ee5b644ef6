import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { HistoryStore } from '../../console/history-store.ts';
import { History } from '../../console/history.ts';
import { loadPage } from '../../console/page-assets.ts';
import { PasswordAccess } from '../../console/password-access.ts';
import { LOOPBACK } from '../../console/listen.ts';
import { serveConsole, type ConsoleServer } from '../../console/server.ts';
import { Watcher } from '../../console/watcher.ts';
import { limitTable } from '../../limits/table.ts';
import { layoutOf } from '../../platform/linux/layout.ts';
import { bounded, detached } from '../../telemetry/boundary.ts';
import { withoutUndefined } from '../../text/untrusted-fields.ts';
import { VERSION } from '../../version.ts';
import { CliError } from '../errors.ts';
import type { Terminal } from '../output/terminal.ts';
import { listenFailure } from '../processes/listen-failure.ts';
import { namespacesHere } from '../own-namespace.ts';
import { isMachine, type PlaceWords } from '../place.ts';
import { openCluster, openResources, platformFor } from '../resources.ts';
import { followFiles, readTls, readUsers } from './console-files.ts';
import { describeMissingSite, requireNamespaceHere } from './console-namespace.ts';
import type { OpenSources } from './console-sources.ts';
import { serveConsoleLinks } from './console-links.ts';

export interface ConsoleOptions {
  readonly port: number;
  readonly publicUrl: readonly URL[];
  /** Bytes. */
  readonly historyMemory: number;
  /** File that keeps the history. */
  readonly history?: string;
  /** Whether links come from `earshot console link` only: the output of a service goes to a log. */
  readonly service?: boolean;
  /** Whether users of the cluster sign in with their tokens. */
  readonly inCluster?: true;
  /** Directory with `tls.crt` and `tls.key`. */
  readonly tls?: string;
  /** File of users with passwords, instead of tokens. */
  readonly users?: string;
  /** File with the authority of the proxies that may name users. */
  readonly proxyCa?: string;
}

/** Serves the console of a namespace until the signal is aborted. */
export async function runConsole(words: PlaceWords, terminal: Terminal, options: ConsoleOptions, until: AbortSignal): Promise<void> {
  const { port, publicUrl: publicUrls, historyMemory, inCluster } = options;
  for (const option of ['tls', 'users'] as const) {
    if (options[option] !== undefined && inCluster !== true)
      throw new CliError('usage', `The option --${option} is for consoles with --in-cluster: omit it.`);
  }
  if (options.proxyCa !== undefined && (options.tls === undefined || options.users !== undefined))
    throw new CliError('usage', 'The option --proxy-ca is for consoles with --tls and without --users: omit it.');
  const file = options.users === undefined ? undefined : await readUsers(options.users);
  const passwords = file === undefined ? undefined : new PasswordAccess(file);
  await using open =
    inCluster === true ? await openInCluster(words, until, options.users === undefined) : await openSources(words, terminal, until);
  const { sources } = open;
  const users = passwords ?? open.users;
  const { where, namespace } = sources.resources;
  const history = new History(historyMemory);
  await using store = options.history === undefined ? undefined : openStore(options.history, namespace, history);
  const place = { where, namespace, isMachine: open.isMachine, version: VERSION };
  const watcher = new Watcher(sources, { place, history, historyProblem: () => store?.problem });
  const watch = async (): Promise<void> => void (await Promise.all([watcher.run(until), store?.run(until)]));
  const [assets, tls] = await Promise.all([loadPage(), options.tls === undefined ? undefined : readTls(options.tls, options.proxyCa)]);
  await watcher.read();
  const further = withoutUndefined({ users, tls });
  await using server = await serveConsole({ sources, watcher, assets, port, publicUrls, ...further }).catch((error: unknown) => {
    throw listenFailure(error, { host: tls === undefined ? LOOPBACK : undefined, port, option: '--port' });
  });
  if (users !== undefined) {
    const by = options.users === undefined ? 'a token of the cluster' : `a user of ${options.users}`;
    terminal.note(`The console of ${where} listens on port ${server.port}. Sign in with ${by}.\n`);
    if (file !== undefined && file.unsupported > 0)
      terminal.note(`Lines of ${options.users} without effect: ${file.unsupported}. Passwords have the scheme {PLAIN}, {SHA} or {SSHA}.\n`);
    detached('look/console-files', () => followFiles(options, { server, passwords }, until));
    return await watch();
  }
  if (options.service === true) {
    if (!open.isMachine) throw new CliError('usage', 'The option --service is for sites of machines: omit it.');
    await using _links = await serveConsoleLinks(layoutOf(namespace), () => server.createLink());
    terminal.note(`The console of ${where} is at port ${server.port}. \`earshot -n ${namespace} console link\` prints a link.\n`);
    return await watch();
  }
  printLinks(where, server, terminal, until);
  await watch();
}

/** @throws FileError */
function openStore(file: string, namespace: string, history: History): HistoryStore {
  return new HistoryStore({ path: resolve(file), namespace, history, most: limitTable.consoleHistoryFile.value, now: () => Date.now() });
}

function printLinks(where: string, server: ConsoleServer, terminal: Terminal, until: AbortSignal): void {
  terminal.note(`The console of ${where} is at this link, which works once, within five minutes:\n`);
  terminal.out(`${server.createLink()}\n`);
  if (!process.stdin.isTTY || terminal.isScreen !== true) return;
  terminal.note('Press Enter for another link, or Ctrl-C to stop.\n');
  const lines = createInterface({ input: process.stdin });
  const print = (): void => terminal.out(`${server.createLink()}\n`);
  lines.on('line', bounded('look/console-link', print));
  until.addEventListener('abort', () => lines.close(), { once: true });
}

/** Milliseconds of a request to a cluster. */
const PATIENCE = 5_000;

async function openSources(words: PlaceWords, terminal: Terminal, until: AbortSignal): Promise<OpenSources> {
  const { platform, other } = await platformFor(words);
  if (isMachine(platform)) {
    const [{ machineSources }, resources] = await Promise.all([import('./console-machine.ts'), openResources(words)]);
    await requireNamespaceHere(resources.namespace);
    return machineSources(resources);
  }
  const [{ clusterSources }, cluster] = await Promise.all([import('./console-cluster.ts'), openCluster(words, PATIENCE)]);
  const sources = await clusterSources(cluster, until);
  const doubt = await describeMissingSite(cluster, other === 'linux' ? await namespacesHere() : []);
  if (doubt !== undefined) terminal.note(`Warning: ${doubt}\n`);
  return sources;
}

async function openInCluster(words: PlaceWords, until: AbortSignal, isReviewed: boolean): Promise<OpenSources> {
  const [{ inClusterSources }, cluster] = await Promise.all([
    import('./console-cluster.ts'),
    openCluster({ platform: 'kubernetes', ...words }, PATIENCE),
  ]);
  return inClusterSources(cluster, until, isReviewed);
}
