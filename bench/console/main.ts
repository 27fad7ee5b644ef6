/**
 * Memory, CPU and first views of a console of a large network: `node bench/console/main.ts --help`. The console is a process of its own.
 * This one plays the router that it asks, and a page that reads the stream of changes. docs/scale.md has the figures.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { serialize } from 'node:v8';
import { loadPage } from '../../src/console/page-assets.ts';
import { describeMachine } from '../machine.ts';
import { format, machineLine, table } from '../markdown.ts';
import { count } from '../options.ts';
import { median } from '../statistics.ts';
import { timeFirstViews } from './first-view.ts';
import { createLargeNetwork } from './large-network.ts';

const FULL = { sites: 1_000, keys: 10_000, connections: 100_000, seconds: 300 };

const USAGE = `node bench/console/main.ts [OPTION…]

Measures the memory and the CPU time of a console. The first minute, in which it starts, does not count. Then it measures how long
Chromium takes to show views.

  --sites N           ${FULL.sites}
  --keys N            ${FULL.keys} routing keys, all with a listener at this site
  --connections N     ${FULL.connections} connections a minute; one key in ten has nine of ten
  --seconds N         ${FULL.seconds}, at least 90`;

const OPTIONS = {
  sites: { type: 'string' },
  keys: { type: 'string' },
  connections: { type: 'string' },
  seconds: { type: 'string' },
  help: { type: 'boolean', default: false },
} as const;

/** Seconds that do not count. */
const STARTING = 60;

interface Sample {
  readonly rss: number;
  readonly heapUsed: number;
  readonly external: number;
  /** Milliseconds of CPU time since the start. */
  readonly cpu: number;
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: OPTIONS });
  if (values.help) return void console.log(USAGE);
  const size = {
    sites: count('--sites', values.sites, FULL.sites),
    keys: count('--keys', values.keys, FULL.keys),
    connections: count('--connections', values.connections, FULL.connections, 0),
  };
  const seconds = count('--seconds', values.seconds, FULL.seconds, STARTING + 30);
  const machine = describeMachine(['node bench/console/main.ts', ...process.argv.slice(2)].join(' '), ['src/console']);
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'earshot-console-bench-'));
  stack.defer(() => rm(folder, { recursive: true }));
  const socket = join(folder, 'api');
  const network = createLargeNetwork(size).listen(socket);
  stack.defer(() => void network.close());
  await once(network, 'listening');
  const page = join(folder, 'page');
  await writeFile(page, serialize(await loadPage()));
  const child = spawn(process.execPath, [fileURLToPath(new URL('console.ts', import.meta.url)), socket, page], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  stack.defer(() => void child.kill());
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  console.log(report(await samplesOf(lines, seconds), seconds).join('\n'));
  child.stdin.write('link\n');
  console.log(['', ...reportViews(await timeFirstViews(await nextLink(lines)))].join('\n'));
  console.log(`\n${machineLine(machine)}: \`${machine.command}\``);
}

async function samplesOf(lines: AsyncIterator<string>, seconds: number): Promise<readonly Sample[]> {
  const samples: Sample[] = [];
  while (samples.length < seconds) {
    const line = await nextLine(lines);
    if (isLink(line)) await openStream(line);
    // The console prints this type.
    else samples.push(JSON.parse(line) as Sample);
  }
  return samples.slice(STARTING);
}

const isLink = (line: string): boolean => line.startsWith('http');

async function nextLine(lines: AsyncIterator<string>): Promise<string> {
  const { done, value } = await lines.next();
  if (done === true) throw new Error('the console has ended');
  return value;
}

async function nextLink(lines: AsyncIterator<string>): Promise<string> {
  for (;;) {
    const line = await nextLine(lines);
    if (isLink(line)) return line;
  }
}

/** Signs in and reads the stream, and reads all lists again when the stream asks for it, as a page does. */
async function openStream(link: string): Promise<void> {
  const { origin, hash } = new URL(link);
  const body = JSON.stringify({ token: hash.slice('#t='.length) });
  // The console answers with this type.
  const { bearer } = (await (await fetch(`${origin}/api/v1/session`, { method: 'POST', body })).json()) as { readonly bearer: string };
  const get = (path: string): Promise<Response> => fetch(`${origin}/api/v1/${path}`, { headers: { authorization: `Bearer ${bearer}` } });
  const readAll = async (): Promise<void> => {
    const answers = await Promise.all(LISTS.map(get));
    await Promise.all(answers.map((answer) => answer.arrayBuffer()));
  };
  const { body: stream } = await get('stream');
  const follow = async (): Promise<void> => {
    for await (const text of stream?.pipeThrough(new TextDecoderStream()) ?? []) if (text.includes('event: resync')) await readAll();
  };
  // It ends with the console.
  void follow().catch(() => undefined);
}

const LISTS = ['overview', 'network', 'keys?limit=5000&cursor=0', 'keys?limit=5000&cursor=5000', 'resources/all?limit=5000&cursor=0'];

function report(samples: readonly Sample[], seconds: number): readonly string[] {
  const megabytes = (bytes: number): string => format(bytes / 1e6, 'MB');
  const [first, last] = [samples[0], samples.at(-1)];
  const cpu = ((last?.cpu ?? 0) - (first?.cpu ?? 0)) / (seconds - STARTING - 1) / 1_000;
  const of = (name: keyof Sample): readonly number[] => samples.map((sample) => sample[name]);
  return table(
    ['figure', 'median', 'most'],
    [
      ['memory of the process', megabytes(median(of('rss'))), megabytes(Math.max(...of('rss')))],
      ['of it the heap of V8', megabytes(median(of('heapUsed'))), megabytes(Math.max(...of('heapUsed')))],
      ['of it buffers', megabytes(median(of('external'))), megabytes(Math.max(...of('external')))],
      ['CPU of one core', format(cpu * 100, '%'), ''],
    ],
  );
}

function reportViews(times: ReadonlyMap<string, readonly number[]>): readonly string[] {
  const rows = [...times].map(([view, each]) => [`\`${view}\``, format(median(each), 'ms'), format(Math.max(...each), 'ms')]);
  return table(['first view', 'median', 'most'], rows);
}

await main();
