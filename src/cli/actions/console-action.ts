import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { HistoryStore } from '../../console/history-store.ts';
import { History } from '../../console/history.ts';
import { loadPage } from '../../console/page-assets.ts';
import { PasswordAccess } from '../../console/password-access.ts';
import { parsePasswordFile, type PasswordFile } from '../../console/password-file.ts';
import { LOOPBACK, type ConsoleTls } from '../../console/listen.ts';
import { serveConsole, type ConsoleServer } from '../../console/server.ts';
import { Watcher } from '../../console/watcher.ts';
import { readText } from '../../files/durable.ts';
import { limitTable } from '../../limits/table.ts';
import { layoutOf } from '../../platform/linux/layout.ts';
import { bounded, detached } from '../../telemetry/boundary.ts';
import { withoutUndefined } from '../../text/untrusted-fields.ts';
import { VERSION } from '../../version.ts';
import { pause } from '../../work/pause.ts';
import { CliError } from '../errors.ts';
import type { Terminal } from '../output/terminal.ts';
import { listenFailure } from '../processes/listen-failure.ts';
import { isMachine, type PlaceWords } from '../place.ts';
import { openCluster, openResources, platformFor } from '../resources.ts';
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
  await using open = inCluster === true ? await openInCluster(words, until, options.users === undefined) : await openSources(words, until);
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

async function openSources(words: PlaceWords, until: AbortSignal): Promise<OpenSources> {
  if (isMachine((await platformFor(words)).platform)) {
    const [{ machineSources }, resources] = await Promise.all([import('./console-machine.ts'), openResources(words)]);
    return machineSources(resources);
  }
  const [{ clusterSources }, cluster] = await Promise.all([import('./console-cluster.ts'), openCluster(words, PATIENCE)]);
  return clusterSources(cluster, until);
}

async function openInCluster(words: PlaceWords, until: AbortSignal, hasRevocations: boolean): Promise<OpenSources> {
  const [{ inClusterSources }, cluster] = await Promise.all([
    import('./console-cluster.ts'),
    openCluster({ platform: 'kubernetes', ...words }, PATIENCE),
  ]);
  return inClusterSources(cluster, until, hasRevocations);
}

/** Milliseconds between two reads of the certificate and the users. The kubelet takes about a minute to replace the files. */
const FILES_EVERY = 60_000;
const MOST_BYTES = 1_048_576;

/** @throws CliError failed */
async function readTls(directory: string, proxyFile?: string): Promise<ConsoleTls> {
  const files = [join(directory, 'tls.crt'), join(directory, 'tls.key'), ...(proxyFile === undefined ? [] : [proxyFile])];
  const [cert, key, proxyCa] = await Promise.all(files.map((file) => readText(file, { bytes: MOST_BYTES })));
  if (proxyFile !== undefined && proxyCa === undefined)
    throw new CliError(
      'failed',
      `The console cannot be served: ${proxyFile} does not exist. Mount the CA certificate of the proxies there.`,
    );
  if (cert !== undefined && key !== undefined) return { cert, key, ...(proxyCa === undefined ? {} : { proxyCa }) };
  throw new CliError(
    'failed',
    `The console cannot be served: ${directory} does not have tls.crt and tls.key. Mount a Secret of the type kubernetes.io/tls.`,
  );
}

/** @throws CliError failed */
async function readUsers(file: string): Promise<PasswordFile> {
  const text = await readText(file, { bytes: MOST_BYTES });
  const read = parsePasswordFile(text ?? '');
  const cause =
    text === undefined
      ? 'does not exist'
      : `has no user whose password has one of the schemes {PLAIN}, {SHA} and {SSHA} (other lines: ${read.unsupported})`;
  if (read.users.size === 0) throw new CliError('failed', `Users of the console cannot be read: ${file} ${cause}. Write one there.`);
  return read;
}

interface Followers {
  readonly server: ConsoleServer;
  readonly passwords: PasswordAccess | undefined;
}

/** Files that are being replaced may not fit for a moment; the certificate and the users before then stay. */
async function followFiles({ tls, users, proxyCa }: ConsoleOptions, { server, passwords }: Followers, until: AbortSignal): Promise<void> {
  while (!until.aborted) {
    await pause(FILES_EVERY, until).catch(() => undefined);
    if (until.aborted) return;
    const [certificate, file] = await Promise.allSettled([
      tls === undefined ? undefined : readTls(tls, proxyCa),
      users === undefined ? undefined : readUsers(users),
    ]);
    if (certificate.status === 'fulfilled' && certificate.value !== undefined) setTls(certificate.value, server);
    if (file.status === 'fulfilled' && file.value !== undefined) passwords?.replaceFile(file.value);
  }
}

/** A certificate and a key that do not fit are files in the middle of a change. */
function setTls(tls: ConsoleTls, server: ConsoleServer): void {
  try {
    server.setTls(tls);
  } catch {
    // Read again soon.
  }
}
