/** Contents of `debug dump` for a site on this machine. A part that is missing is replaced by the reason. */
import { execFile } from 'node:child_process';
import { lstat, readdir } from 'node:fs/promises';
import { cpus, release, totalmem, type as systemName } from 'node:os';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { VERSION } from '../../version.ts';
import { readText } from '../../files/durable.ts';
import { layoutOf, type NamespaceLayout } from '../../platform/linux/layout.ts';
import { locationText } from '../../platform/linux/report.ts';
import { askRouterText } from '../../platform/linux/router-api.ts';
import { runningRouters } from '../../platform/linux/routers.ts';
import { readProblems } from '../../platform/linux/runtime-resources.ts';
import { messageOf } from '../../telemetry/log.ts';
import { certificateFacts } from '../output/certificate-facts.ts';
import { routerFiles } from './router-files.ts';
import { machineRouters } from './site-routers.ts';
import type { ArchiveFile } from '../output/tar.ts';
import type { Collected, ParsedResources } from '../output/collected.ts';
import { containerStates, engineVersion } from './container-actions.ts';
import { containersOf } from './system-actions.ts';
import { instanceName, unitName } from './systemd-unit.ts';
import { printable } from '../../text/printable.ts';
import { writeYaml } from '../../text/write-yaml.ts';
import { parseDocuments, readDocument } from '../../text/yaml.ts';

const most = { files: 5000, bytes: 16 * 1024 * 1024, logLines: 20_000, milliseconds: 10_000 };

export async function collectMachine(namespace: string): Promise<Collected> {
  const layout = layoutOf(namespace);
  const parsed = (
    await Promise.all(
      [layout.input.resources, layout.internal.links, layout.runtime.resources].map((folder) => resourceFiles(layout, folder)),
    )
  ).flat();
  const texts: readonly ArchiveFile[] = [
    { path: 'about.yaml', content: writeYaml(await about(layout)) },
    { path: 'files.txt', content: await fileList(layout) },
    { path: 'certificates.yaml', content: writeYaml(await certificates(layout)) },
    { path: 'problems.txt', content: (await readProblems(layout)).map((problem) => `${printable(locationText(problem))}\n`).join('') },
    { path: 'journal.txt', content: await journal(namespace) },
    ...(await containerFiles(namespace)),
    ...(await metrics(layout)),
    ...(await routerFiles(machineRouters(layout))),
  ];
  return { texts, resources: parsed };
}

/** State of each container and version of the engine. No environment, which a user may have extended. */
async function containerFiles(namespace: string): Promise<readonly ArchiveFile[]> {
  try {
    const containers = await containersOf(namespace);
    if (containers === undefined) return [];
    const [states, version] = await Promise.all([containerStates(containers), engineVersion(containers[0])]);
    return [
      { path: 'containers.yaml', content: writeYaml(states) },
      { path: 'engine.txt', content: `${version}\n` },
    ];
  } catch (error) {
    return [{ path: 'containers.yaml', content: writeYaml({ problem: messageOf(error) }) }];
  }
}

/** Leaves out files that cannot be parsed. The problems name them. */
async function resourceFiles(layout: NamespaceLayout, folder: string): Promise<readonly ParsedResources[]> {
  const names = (await readdir(folder).catch(() => []))
    .filter((name) => /^[\w][\w.-]{0,150}\.(ya?ml|json)$/.test(name))
    .slice(0, most.files);
  return Promise.all(
    names.map(async (name) => {
      const path = relative(layout.root, join(folder, name));
      const text = await readText(join(folder, name), { bytes: most.bytes }).catch(() => undefined);
      return { path, values: text === undefined ? [] : valuesIn(text) };
    }),
  );
}

function valuesIn(text: string): readonly unknown[] {
  try {
    const read = parseDocuments(text).map((document) => readDocument(document).value);
    return read.filter((value) => value !== undefined && value !== null);
  } catch {
    return [];
  }
}

async function about(layout: NamespaceLayout): Promise<object> {
  return {
    earshot: VERSION,
    node: process.version,
    system: `${systemName()} ${release()} ${process.arch}`,
    processors: cpus().length,
    memory: totalmem(),
    at: new Date().toISOString(),
    directory: layout.root,
    routers: await runningRouters(layout),
  };
}

/** Names, sizes and modes: a wrong mode or an extra file is a common cause. */
async function fileList(layout: NamespaceLayout): Promise<string> {
  const lines: string[] = [];
  const walk = async (folder: string): Promise<void> => {
    for (const name of (await readdir(folder).catch(() => [])).sort()) {
      if (lines.length >= most.files) return;
      const path = join(folder, name);
      const found = await lstat(path).catch(() => undefined);
      if (found === undefined) continue;
      const kind = found.isDirectory() ? 'd' : found.isFile() ? '-' : found.isSymbolicLink() ? 'l' : '?';
      const mode = (found.mode & 0o7777).toString(8).padStart(4, '0');
      const size = String(found.size).padStart(9);
      lines.push(`${kind}${mode} ${found.uid} ${size} ${found.mtime.toISOString()} ${printable(relative(layout.root, path))}\n`);
      if (found.isDirectory()) await walk(path);
    }
  };
  await walk(layout.root);
  return lines.join('');
}

/** Facts of each certificate. Keys are not read. */
async function certificates(layout: NamespaceLayout): Promise<readonly object[]> {
  const folders = [layout.input.certs, layout.input.issuers, layout.internal.certs, layout.internal.issuers].map(async (parent) => {
    const names = await readdir(parent).catch(() => []);
    return names.map((name) => join(parent, name));
  });
  const all = [...(await Promise.all(folders)).flat().slice(0, most.files), layout.internal.ca];
  const found = all.flatMap((folder) => ['tls.crt', 'ca.crt'].map((name) => join(folder, name)));
  const facts = await Promise.all(
    found.map(async (path) => {
      const text = await readText(path, { bytes: 1024 * 1024 }).catch(() => undefined);
      return text === undefined ? [] : [{ file: relative(layout.root, path), ...certificateFacts(text) }];
    }),
  );
  return facts.flat();
}

async function metrics(layout: NamespaceLayout): Promise<readonly ArchiveFile[]> {
  const routers = await runningRouters(layout);
  const parts = routers.map(async ({ router, httpPort, network }) => {
    // The loopback address of a container network is not the one of the machine.
    const pages = network === undefined ? ['metrics', 'readyz'] : ['metrics'];
    return Promise.all(
      pages.map(async (page) => ({
        path: `routers/${router}/${page}.txt`,
        content: network === undefined ? await pageOf(httpPort, page) : await metricsOf(layout, router),
      })),
    );
  });
  return (await Promise.all(parts)).flat();
}

async function metricsOf(layout: NamespaceLayout, router: string): Promise<string> {
  try {
    return (await askRouterText(layout, router, '/metrics')).slice(0, most.bytes);
  } catch (error) {
    return `could not be read: ${messageOf(error)}\n`;
  }
}

async function pageOf(port: number, page: string): Promise<string> {
  try {
    const answer = await fetch(`http://127.0.0.1:${port}/${page}`, { signal: AbortSignal.timeout(most.milliseconds) });
    return (await answer.text()).slice(0, most.bytes);
  } catch (error) {
    return `could not be read: ${error instanceof Error ? error.message : String(error)}\n`;
  }
}

async function journal(namespace: string): Promise<string> {
  const args = [
    ...(process.getuid?.() === 0 ? [] : ['--user']),
    '--no-pager',
    '--output',
    'cat',
    '--lines',
    String(most.logLines),
    '--unit',
    unitName(namespace),
    '--unit',
    instanceName(namespace),
  ];
  try {
    const { stdout } = await promisify(execFile)('journalctl', args, { maxBuffer: most.bytes, timeout: most.milliseconds });
    return stdout;
  } catch {
    return 'no journal is readable here; add the output of `earshot run`, if you have it\n';
  }
}
