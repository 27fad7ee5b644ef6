/** `earshot logs`. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, readlink, stat } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { pods } from '../../kube/resource.ts';
import type { Pod } from '../../kube/objects.ts';
import { layoutOf } from '../../platform/linux/layout.ts';
import { runningRouters } from '../../platform/linux/routers.ts';
import { pidHere, processText } from '../../platform/linux/running-process.ts';
import { ROUTER_PODS } from '../../platform/kubernetes/cluster-resources/about.ts';
import { textOf } from '../../telemetry/log-format.ts';
import { commandIn } from '../../text/command-in.ts';
import { isMachine, machineNamespace, type PlaceWords } from '../place.ts';
import { CliError } from '../errors.ts';
import { requireOwnNamespace } from '../own-namespace.ts';
import { openCluster, platformFor, type Cluster } from '../resources.ts';
import type { Terminal } from '../output/terminal.ts';
import { logCommands, logSourceOf, type LogSource, type Output, type Tail } from './log-sources.ts';
import { containerStates } from './container-actions.ts';
import { containerName } from './router-container.ts';
import { containersOf, unitOf } from './system-actions.ts';

export interface LogOptions {
  readonly follow?: boolean;
  readonly tail: number;
  readonly output?: 'json';
}

/** @param from prefix of the line: the pod that wrote it */
type Show = (line: string, from?: string) => void;

/** Shows the log of each router of the site: text on a terminal, otherwise the lines as they were written. */
export async function showLogs(place: PlaceWords, { follow = false, tail, output }: LogOptions, terminal: Terminal): Promise<void> {
  const isText = terminal.isScreen === true && output !== 'json';
  const show: Show = (line, from = '') => terminal.out(`${from}${isText ? textOf(line) : line}\n`);
  const how: Tail = { lines: tail, follow };
  if (isMachine((await platformFor(place)).platform)) await machineLogs(machineNamespace(place, process.env), how, show, terminal);
  else await clusterLogs(await openCluster(place), how, show);
}

async function machineLogs(namespace: string, how: Tail, show: Show, terminal: Terminal): Promise<void> {
  await requireOwnNamespace(namespace);
  const sources = await sourcesOf(namespace);
  if (sources.length === 0) {
    throw new CliError(
      'not-running',
      `The namespace ${namespace} has no log: no process runs it, and systemd has no unit for it. Start it with ${commandIn(namespace, 'run')}.`,
    );
  }
  const commands = logCommands(sources, how);
  const elsewhere = sources.flatMap((source) => (source.kind === 'elsewhere' ? [source.why] : []));
  if (commands.length === 0) throw new CliError('failed', `The log cannot be read here: ${elsewhere.join('; ')}.`);
  for (const why of elsewhere) terminal.note(`Not shown: ${why}.\n`);
  await Promise.all(commands.map((command) => printed(command, show)));
}

async function sourcesOf(namespace: string): Promise<readonly LogSource[]> {
  const [routers, containers] = await Promise.all([runningRouters(layoutOf(namespace)), containersOf(namespace)]);
  const found = await Promise.all(
    routers.map(async (running): Promise<readonly [key: string, source: LogSource]> => {
      const { container } = running;
      const of = containers?.find(({ network }) => containerName(namespace, network) === container);
      if (container !== undefined && of !== undefined) return [container, { kind: 'container', program: of.program, name: container }];
      const pid = pidHere(running);
      if (pid === undefined) {
        const why = `${processText(running)} has a log of its own: ask its engine`;
        return [why, { kind: 'elsewhere', why }];
      }
      const [output, groups] = await Promise.all([outputOf(pid), readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => '')]);
      return [output?.isFile === true ? output.target : String(pid), logSourceOf(pid, output, groups)];
    }),
  );
  // Routers of one supervisor write to one file or container, which is shown once.
  if (found.length > 0) return [...new Map(found).values()];
  // The last container that ended still has its log, unless systemd removed it.
  const ended = containers === undefined ? [] : (await containerStates(containers)).filter(({ state }) => state !== 'absent');
  if (ended.length > 0) return ended.map(({ name }) => ({ kind: 'container', program: containers?.[0].program ?? '', name }));
  const unit = await unitOf(namespace);
  return unit === undefined ? [] : [{ kind: 'journal', ...unit }];
}

async function outputOf(pid: number): Promise<Output | undefined> {
  const path = `/proc/${pid}/fd/1`;
  try {
    const [target, found] = await Promise.all([readlink(path), stat(path)]);
    return { target, isFile: found.isFile() };
  } catch {
    return undefined;
  }
}

/** @throws CliError failed if the program fails */
async function printed([program, ...args]: readonly [string, ...string[]], show: Show): Promise<void> {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'close');
  createInterface({ input: child.stdout }).on('line', show);
  const [code] = await ended.catch((error: unknown) => {
    throw new CliError('failed', `${program} cannot be started: ${error instanceof Error ? error.message : String(error)}.`, error);
  });
  if (code !== 0) throw new CliError('failed', `${program} exited with code ${String(code)}.`);
}

/** With several pods, each line is prefixed with the name of its pod. */
async function clusterLogs({ client, place }: Cluster, { lines, follow }: Tail, show: Show): Promise<void> {
  await using _client = client;
  const { namespace } = place;
  const found: Pod[] = [];
  for await (const pod of client.list(pods, { namespace, labelSelector: ROUTER_PODS })) found.push(pod);
  if (found.length === 0) throw new CliError('not-running', `The namespace ${namespace} of ${place.cluster} has no router pods.`);
  await Promise.all(
    found.map(async ({ metadata: { name = '' } }) => {
      const key = { namespace, name };
      const of = { container: 'router', lines };
      const line = (text: string): void => show(text, found.length === 1 ? '' : `[${name}] `);
      if (follow) return client.followLog(key, of, line);
      for (const text of (await client.log(key, of)).split('\n')) if (text !== '') line(text);
      return undefined;
    }),
  );
}
