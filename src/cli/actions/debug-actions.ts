/** `debug dump`: one archive of what a platform has of a site, without what is secret. */
import { rename, writeFile } from 'node:fs/promises';
import { extname, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { runChecks } from '../../explain/gather/run-checks.ts';
import { messageOf } from '../../telemetry/log.ts';
import { writeYaml } from '../../text/write-yaml.ts';
import { redacted, scrubbed, secretsIn } from '../output/redact.ts';
import type { Collected } from '../output/collected.ts';
import { structured } from '../output/output.ts';
import { tarOf, type ArchiveFile } from '../output/tar.ts';
import type { Terminal } from '../output/terminal.ts';
import { requireOwnNamespace } from '../own-namespace.ts';
import { isMachine, machineNamespace, type PlaceWords } from '../place.ts';
import { openCluster, platformFor } from '../resources.ts';
import { openPlace } from './explain-place.ts';

export async function dump(words: PlaceWords, name: string | undefined, terminal: Terminal): Promise<void> {
  const [{ namespace, texts, resources: parsed }, report] = await Promise.all([collect(words), checkOf(words)]);
  const file = archiveName(name, namespace, new Date());
  const secrets = [...new Set(parsed.flatMap(({ values }) => values.flatMap(secretsIn)))];
  const resources = parsed.map(({ path, values }) => ({
    path,
    content: values.map((value) => `---\n${writeYaml(redacted(value))}`).join(''),
  }));
  const root = `earshot-${namespace}`;
  const files = [report, ...texts, ...resources].map(({ path, content }) => ({
    path: `${root}/${path}`,
    content: scrubbed(content, secrets),
  }));
  const draft = `${resolve(file)}.${process.pid}.tmp`;
  await writeFile(draft, gzipSync(tarOf(files, Math.floor(Date.now() / 1000))), { mode: 0o600, flag: 'wx' });
  await rename(draft, resolve(file));
  terminal.out(`Wrote ${file}: ${files.length} files without keys, codes and tokens.\n`);
  terminal.note('It contains names, hosts and routing keys: review it before you share it.\n');
}

/** Scripts find the archive by this name, as with Skupper. */
export function archiveName(name = 'skupper-dump', namespace: string, now: Date): string {
  if (extname(name) !== '') return name;
  return `${name}-${namespace}-${now.toISOString().replaceAll(/\D/g, '').slice(0, 14)}.tar.gz`;
}

/** What `earshot check -o json` prints. */
async function checkOf(words: PlaceWords): Promise<ArchiveFile> {
  const path = 'check.json';
  try {
    await using open = await openPlace(words);
    return { path, content: structured(await runChecks({ ...open.place, probe: false }), 'json') };
  } catch (error) {
    return { path, content: structured({ problem: messageOf(error) }, 'json') };
  }
}

async function collect(words: PlaceWords): Promise<Collected & { readonly namespace: string }> {
  if (isMachine((await platformFor(words)).platform)) {
    const namespace = machineNamespace(words, process.env);
    await requireOwnNamespace(namespace);
    return { namespace, ...(await (await import('./debug-machine.ts')).collectMachine(namespace)) };
  }
  const [{ collectCluster }, { openRouters }, cluster] = await Promise.all([
    import('./debug-cluster.ts'),
    import('./open-routers.ts'),
    openCluster(words),
  ]);
  await using _client = cluster.client;
  using routers = openRouters(cluster);
  return { namespace: cluster.place.namespace, ...(await collectCluster(cluster, routers)) };
}
