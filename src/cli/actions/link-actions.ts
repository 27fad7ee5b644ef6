import { commandIn } from '../../platform/linux/command-in.ts';
import { layoutOf } from '../../platform/linux/layout.ts';
import { OfflineLinkFiles } from '../../platform/linux/offline-links.ts';
import type { Resources } from '../../platform/resources.ts';
import type { Site } from '../../api/skupper/index.ts';
import { acceptsLinks } from '../../site/plan/access.ts';
import { CliError } from '../errors.ts';
import { listOf, structured, type OutputFormat } from '../output/output.ts';
import { requireRunning, waitUntil, type Context } from './waiting.ts';
import { isRecord } from '../../text/is-record.ts';
import { printable, quoted } from '../../text/printable.ts';
import { parseYaml } from '../../text/yaml.ts';

export interface GenerateLinkOptions {
  readonly cost?: number;
  readonly host?: string;
  readonly timeout: number;
  readonly output: OutputFormat;
}

/** Prints what the running process keeps in `runtime/links` once it is asked to, under another name and cost where asked for. */
export async function generateLink(context: Context, name: string | undefined, options: GenerateLinkOptions): Promise<void> {
  const { resources, terminal } = context;
  const links = new OfflineLinkFiles(layoutOf(resources.namespace).runtime.links);
  await requireRunning(resources);
  const documents = await waitUntil(context, 'a link to this site', options.timeout, async () => {
    const offered = await offeredEndpoints(resources);
    if (offered.length === 0) {
      await requireLinkable(resources);
      return { waitingFor: 'nothing listens for links yet' };
    }
    const { host, access } = choose(offered, options.host);
    const found = documentsOf(await links.read(`link-${access}`, host));
    if (found.length > 0) return { done: found };
    await links.ask(`link-${access}`, host);
    return { waitingFor: 'its certificate is not there yet' };
  });
  const printed = documents.map((document) => renamed(document, name, options.cost));
  terminal.out(
    options.output === 'json'
      ? structured(listOf(printed), 'json')
      : printed.map((document) => `---\n${structured(document, 'yaml')}`).join(''),
  );
}

/** Where other sites reach this one, by which of its accesses. */
interface Offered {
  readonly host: string;
  readonly access: string;
}

type Document = Readonly<Record<string, unknown>>;

async function offeredEndpoints(resources: Resources): Promise<readonly Offered[]> {
  const endpoints = (await resources.list('Site')).flatMap(({ status }) => status?.endpoints ?? []);
  return endpoints.flatMap(({ host, group }) => (host === undefined || group === undefined ? [] : [{ host, access: group }]));
}

/** @throws CliError not-found where the site has no such host */
function choose(offered: readonly Offered[], host: string | undefined): Offered {
  // Loopback addresses last: another machine cannot use them.
  const found = host === undefined ? offered.toSorted(byUse)[0] : offered.find((one) => one.host === host);
  if (found !== undefined) return found;
  const hosts = [...new Set(offered.map((one) => printable(one.host)))].join(', ');
  throw new CliError('not-found', `Other sites do not reach this one by ${quoted(host ?? '')}; there is ${hosts}.`);
}

function byUse(one: Offered, other: Offered): number {
  return Number(isLoopback(one)) - Number(isLoopback(other));
}

const isLoopback = ({ host }: Offered): boolean => host === 'localhost' || host === '::1' || host.startsWith('127.');

function documentsOf(text: string | undefined): readonly Document[] {
  return text === undefined || text === '' ? [] : parseYaml(text).filter(isRecord);
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
