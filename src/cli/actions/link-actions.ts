import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode } from '../../files/errno.ts';
import { readText } from '../../files/durable.ts';
import { commandIn } from '../../platform/linux/command-in.ts';
import { layoutOf, type NamespaceLayout } from '../../platform/linux/layout.ts';
import type { Resources } from '../../platform/resources.ts';
import type { Site } from '../../api/skupper/index.ts';
import { acceptsLinks } from '../../site/plan/access.ts';
import { CliError } from '../errors.ts';
import { listOf, structured, type OutputFormat } from '../output/output.ts';
import { requireRunning, waitUntil, type Context } from './waiting.ts';
import { isRecord } from '../../text/is-record.ts';
import { printable } from '../../text/printable.ts';
import { parseYaml } from '../../text/yaml.ts';

export interface GenerateLinkOptions {
  readonly cost?: number;
  readonly host?: string;
  readonly timeout: number;
  readonly output: OutputFormat;
}

/** Prints what the running process keeps in `runtime/links`, under another name and cost where asked for. */
export async function generateLink(context: Context, name: string | undefined, options: GenerateLinkOptions): Promise<void> {
  const { resources, terminal } = context;
  const layout = layoutOf(resources.namespace);
  await requireRunning(resources);
  const link = await waitUntil(context, 'a link to this site', options.timeout, async () => {
    const links = await offeredLinks(layout);
    const found = options.host === undefined ? links.toSorted(byUse)[0] : links.find(({ hosts }) => hosts.includes(options.host ?? ''));
    if (found !== undefined) return { done: found };
    await requireLinkable(resources);
    const others = [...new Set(links.flatMap(({ hosts }) => hosts))].map((text) => printable(text)).join(', ');
    return { waitingFor: others === '' ? 'nothing listens for links yet' : `none uses that host; there is ${others}` };
  });
  const documents = link.documents.map((document) => renamed(document, name, options.cost));
  terminal.out(
    options.output === 'json'
      ? structured(listOf(documents), 'json')
      : documents.map((document) => `---\n${structured(document, 'yaml')}`).join(''),
  );
}

interface Offered {
  readonly documents: readonly Document[];
  readonly hosts: readonly string[];
}

type Document = Readonly<Record<string, unknown>>;

async function offeredLinks(layout: NamespaceLayout): Promise<readonly Offered[]> {
  const names = await readdir(layout.runtime.links).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return [];
    throw error;
  });
  const files = await Promise.all(
    names
      .filter((file) => file.endsWith('.yaml'))
      .sort()
      .map((file) => readText(join(layout.runtime.links, file), { bytes: 1024 * 1024 })),
  );
  return files
    .filter((text) => text !== undefined)
    .map((text) => {
      const documents = parseYaml(text).filter(isRecord);
      const link = documents.find(({ kind }) => kind === 'Link');
      const endpoints = isRecord(link?.['spec']) ? link['spec']['endpoints'] : undefined;
      const hosts = Array.isArray(endpoints) ? endpoints.filter(isRecord).map(({ host }) => String(host)) : [];
      return { documents, hosts };
    })
    .filter(({ hosts }) => hosts.length > 0);
}

/** Loopback addresses last: another machine cannot use them. */
function byUse(one: Offered, other: Offered): number {
  return Number(isLoopback(one)) - Number(isLoopback(other));
}

function isLoopback({ hosts }: Offered): boolean {
  return hosts.every((host) => host === 'localhost' || host === '::1' || host.startsWith('127.'));
}

/** @throws CliError failed where no other site could use a link to this one */
async function requireLinkable(resources: Resources): Promise<void> {
  const [site] = await resources.list('Site');
  if (site !== undefined && (await isLinkable(resources, site))) return;
  const command = commandIn(resources.namespace, 'site update --enable-link-access');
  throw new CliError('failed', `No other site can link to this one yet: let them in with ${command}.`);
}

export async function isLinkable(resources: Resources, site: Site): Promise<boolean> {
  // Of one that cannot be read there is only a status.
  const RouterAccess = (await resources.list('RouterAccess')).filter(({ spec }) => 'roles' in spec);
  return acceptsLinks({ RouterAccess }, site);
}

function renamed(document: Document, name: string | undefined, cost: number | undefined): Document {
  const metadata = name === undefined || !isRecord(document['metadata']) ? document['metadata'] : { ...document['metadata'], name };
  const { spec } = document;
  if (document['kind'] !== 'Link' || !isRecord(spec)) return { ...document, metadata };
  return {
    ...document,
    metadata,
    spec: { ...spec, ...(name === undefined ? {} : { tlsCredentials: name }), ...(cost === undefined ? {} : { cost }) },
  };
}
