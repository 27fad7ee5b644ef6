/** Reads resources from files, directories, addresses and standard input, with the problems of parsing. */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { readText } from '../../files/durable.ts';
import { hasCode, remedyOf } from '../../files/errno.ts';
import { limitTable } from '../../limits/table.ts';
import { parseResources, type ParsedFile } from '../../platform/linux/parse.ts';
import type { Platform } from '../../site/capabilities.ts';
import { messageOf } from '../../telemetry/log.ts';
import { printable } from '../../text/printable.ts';
import { CliError } from '../errors.ts';
import type { Terminal } from '../output/terminal.ts';

export interface ResourceFile extends ParsedFile {
  readonly name: string;
  readonly text: string;
}

/** @throws CliError not-found, failed if an address cannot be downloaded */
export async function readResourceFiles(
  paths: readonly string[],
  terminal: Terminal,
  { namespace, platform }: { readonly namespace: string; readonly platform: Platform },
): Promise<readonly ResourceFile[]> {
  const sources = (await Promise.all(paths.map((path) => sourcesOf(path, terminal)))).flat();
  const files: ResourceFile[] = [];
  for (const { name, text } of sources) {
    files.push({ name, text, ...(await parseResources(text, name, namespace, platform, 'read')) });
  }
  return files;
}

async function sourcesOf(path: string, terminal: Terminal): Promise<readonly { readonly name: string; readonly text: string }[]> {
  if (path === '-') return [{ name: 'standard input', text: await terminal.input() }];
  if (/^https?:\/\//.test(path)) return [{ name: path, text: await download(path) }];
  const found = await stat(path).catch((cause: unknown) => {
    if (hasCode(cause, 'ENOENT')) throw new CliError('not-found', `The file ${path} does not exist.`);
    throw new CliError('failed', `The file ${path} cannot be read ${remedyOf(cause, 'read')}.`);
  });
  const files = found.isDirectory()
    ? (await readdir(path))
        .filter((name) => /^[^.].*\.(ya?ml|json)$/.test(name))
        .sort()
        .map((name) => join(path, name))
    : [path];
  return Promise.all(files.map(async (name) => ({ name, text: (await readText(name, { bytes: MOST_BYTES })) ?? '' })));
}

/** Download timeout in milliseconds, and maximum size in bytes. */
const DOWNLOAD = 30_000;
const MOST_BYTES = limitTable.manifestBytes.value;

/** @throws CliError failed */
async function download(address: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    const answer = await fetch(address, { signal: AbortSignal.timeout(DOWNLOAD) });
    if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
    for await (const chunk of answer.body ?? []) {
      bytes += chunk.length;
      if (bytes > MOST_BYTES) throw new Error(`it has more than ${MOST_BYTES} bytes`);
      chunks.push(chunk);
    }
  } catch (error) {
    throw new CliError('failed', `${printable(address)} cannot be downloaded: ${printable(messageOf(error))}.`, error);
  }
  return Buffer.concat(chunks).toString('utf8');
}
