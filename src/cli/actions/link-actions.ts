import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { hasCode } from '../../files/errno.ts';
import { readText, removeFile } from '../../files/durable.ts';
import { layoutOf, resourceFileName, type NamespaceLayout } from '../../platform/linux/layout.ts';
import { CliError } from '../errors.ts';
import { findDefined, removeManifest } from './input-files.ts';
import type { GenerateOptions } from '../commands/link.ts';
import { listOf, structured } from '../output/output.ts';
import { deleteResource, type Target } from './resource-actions.ts';
import { printable, type Terminal } from '../output/terminal.ts';
import { requireRunning, runtimeSite, settleGone, waitUntil } from './waiting.ts';

/** A link that came of a token is a file of the system's; the token goes first, so that nothing makes the link again. */
export async function deleteLink(
  target: Target<'Link'>,
  name: string,
  options: { readonly wait: boolean; readonly timeout: number },
): Promise<void> {
  const layout = layoutOf(target.namespace);
  const fromToken = (await findDefined(layout, 'Link', name))?.path === join(layout.internal.links, resourceFileName('Link', name));
  if (!fromToken) return deleteResource(target, name, options);
  await removeManifest(layout, 'AccessToken', name);
  await removeFile(join(layout.internal.links, resourceFileName('Link', name)));
  if (options.wait) await settleGone(layout, 'Link', name, options.timeout, target.terminal);
  target.terminal.out(`Link "${name}" is deleted.\n`);
}

/** Prints what the running process keeps in `runtime/links`, under another name and cost where asked for. */
export async function generateLink(
  namespace: string,
  name: string | undefined,
  options: GenerateOptions,
  terminal: Terminal,
): Promise<void> {
  const layout = layoutOf(namespace);
  await requireRunning(layout);
  const link = await waitUntil('a link to this site', options.timeout, terminal, async () => {
    const links = await offeredLinks(layout);
    const found = options.host === undefined ? links.toSorted(byUse)[0] : links.find(({ hosts }) => hosts.includes(options.host ?? ''));
    if (found !== undefined) return { done: found };
    const site = await runtimeSite(layout);
    if (site?.spec.linkAccess === undefined || site.spec.linkAccess === 'none') await requireAccess(layout);
    const others = [...new Set(links.flatMap(({ hosts }) => hosts))].map(printable).join(', ');
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
      const documents = parseAllDocuments(text)
        .map((document): unknown => document.toJS())
        .filter(isDocument);
      const link = documents.find(({ kind }) => kind === 'Link');
      const endpoints = isDocument(link?.['spec']) ? link['spec']['endpoints'] : undefined;
      const hosts = Array.isArray(endpoints) ? endpoints.filter(isDocument).map(({ host }) => String(host)) : [];
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

async function requireAccess(layout: NamespaceLayout): Promise<void> {
  const { resourcesOf } = await import('./resource-actions.ts');
  if ((await resourcesOf(layout, 'RouterAccess')).length > 0) return;
  throw new CliError('failed', 'No other site can link to this one yet: let them in with `earshot site update --enable-link-access`.');
}

function renamed(document: Document, name: string | undefined, cost: number | undefined): Document {
  const metadata = name === undefined || !isDocument(document['metadata']) ? document['metadata'] : { ...document['metadata'], name };
  const { spec } = document;
  if (document['kind'] !== 'Link' || !isDocument(spec)) return { ...document, metadata };
  return {
    ...document,
    metadata,
    spec: { ...spec, ...(name === undefined ? {} : { tlsCredentials: name }), ...(cost === undefined ? {} : { cost }) },
  };
}

function isDocument(value: unknown): value is Document {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
