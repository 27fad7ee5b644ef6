import { commandIn } from '../../text/command-in.ts';
import type { OfferedLink, Resources } from '../../platform/resources.ts';
import type { Site } from '../../api/skupper/index.ts';
import { API_VERSION } from '../../api/skupper/names.ts';
import { acceptsLinks } from '../../site/plan/access.ts';
import { CliError } from '../errors.ts';
import { listOf, structured, type OutputFormat } from '../output/output.ts';
import { checked, notFound, updateResource, type SpecChange, type Target } from './resource-actions.ts';
import { requireRunning, waitUntil, type Context, type Wait, type WaitOptions } from './waiting.ts';
import { isRecord } from '../../text/is-record.ts';
import { isHost } from '../../text/names.ts';
import { quoted } from '../../text/printable.ts';
import { unreachableText } from '../../site/site-endpoints.ts';
import { sortActiveFirst } from '../../site/surplus-sites.ts';

export interface GenerateLinkOptions {
  readonly cost?: number;
  readonly host?: string;
  /** Name of the RouterAccess that the link leads to. Default: any. */
  readonly name?: string;
  /** Name of the TLS bundle in the output. */
  readonly tlsCredentials?: string;
  /** False if the bundle exists already and is not printed. */
  readonly generateCredential?: boolean;
  readonly timeout: number;
  readonly output: OutputFormat;
}

/** Prints the documents that the other site applies, with the given name and cost if set. */
export async function generateLink(context: Context, name: string | undefined, options: GenerateLinkOptions): Promise<void> {
  const { resources, terminal } = context;
  const { tlsCredentials, generateCredential = true } = options;
  if (!generateCredential && tlsCredentials === undefined)
    throw new CliError('usage', 'Without a generated credential, name the TLS bundle of the other site with --tls-credentials NAME.');
  await requireRunning(resources);
  const documents = await waitUntil(context, 'a link to this site', options.timeout, async () => {
    const sites = sortActiveFirst(await resources.list('Site'));
    const found = sites.find(({ status }) => (status?.endpoints ?? []).length > 0) ?? sites[0];
    const site = found === undefined || options.name === undefined ? found : onlyAccess(found, options.name);
    if ((site?.status?.endpoints ?? []).length === 0) await requireLinkable(resources);
    if (site === undefined) return { waitingFor: 'the namespace has no site' };
    const offered = generateCredential ? await resources.linkTo(site, options.host) : linksWithout(site, options.host);
    return 'documents' in offered ? { done: offered.documents } : offered;
  });
  const count = documents.filter(isLink).length;
  let number = 0;
  const printed = documents.map((document) => renamed(document, isLink(document) && count > 1 ? (number += 1) : 0, name, options));
  terminal.out(
    options.output === 'json'
      ? structured(listOf(printed), 'json')
      : printed.map((document) => `---\n${structured(document, 'yaml')}`).join(''),
  );
}

/** Updates the resource. A `host` replaces those of all endpoints, which keep their ports. */
export async function updateLink(target: Target, name: string, change: SpecChange, usual: Wait, options: WaitOptions): Promise<void> {
  const { host, ...others } = change;
  if (host === undefined) return updateResource(target, name, others, usual, options);
  if (typeof host !== 'string' || !isHost(host))
    throw new CliError('usage', `${quoted(String(host))} is not a host: give a name or an address without a port.`);
  const link = await target.resources.find('Link', name);
  if (link === undefined) throw await notFound(target.resources, 'Link', name);
  const { endpoints } = checked('Link', link.manifest, target.resources.conventions.platform).spec;
  const moved = new Map(endpoints.map((endpoint) => [[endpoint.name, endpoint.group, endpoint.port].join(' '), { ...endpoint, host }]));
  return updateResource(target, name, { ...others, endpoints: [...moved.values()] }, usual, options);
}

/** @throws CliError not-found if the site has other accesses, but not this one */
function onlyAccess(site: Site, name: string): Site {
  const all = site.status?.endpoints ?? [];
  const endpoints = all.filter(({ group }) => group === name);
  if (all.length === 0 || endpoints.length > 0) return { ...site, status: { ...site.status, endpoints } };
  const others = [...new Set(all.map(({ group }) => group ?? ''))].map((group) => quoted(group)).join(', ');
  throw new CliError('not-found', `Links cannot lead to ${quoted(name)}: this RouterAccess does not exist. Give one of ${others}.`);
}

const isLink = (document: object): boolean => new Map(Object.entries(document)).get('kind') === 'Link';

/** @throws CliError failed if no other site could use a link to this one */
async function requireLinkable(resources: Resources): Promise<void> {
  const [site] = sortActiveFirst(await resources.list('Site'));
  if (site !== undefined && (await isLinkable(resources, site))) return;
  const command = commandIn(resources, 'site update --enable-link-access');
  throw new CliError('failed', `Other sites cannot link to this one: allow it with ${command}.`);
}

export async function isLinkable(resources: Resources, site: Site): Promise<boolean> {
  // An unreadable RouterAccess has only a status.
  const RouterAccess = (await resources.list('RouterAccess')).filter(({ spec }) => 'roles' in spec);
  return acceptsLinks({ RouterAccess }, site);
}

/** Links to this site, one for each group of its endpoints, without a TLS bundle. The bundle is transferred separately. */
export function linksWithout({ metadata, status }: Site, host: string | undefined): OfferedLink {
  const all = status?.endpoints ?? [];
  const endpoints = host === undefined ? all : all.filter((endpoint) => endpoint.host === host);
  if (all.length === 0) return { waitingFor: 'the site does not listen for links yet' };
  if (endpoints.length === 0) throw new CliError('not-found', unreachableText(host ?? ''));
  const groups = [...Map.groupBy(endpoints, ({ group }) => group ?? '')];
  return {
    documents: groups.map(([group, those]) => ({
      apiVersion: API_VERSION,
      kind: 'Link',
      metadata: { name: ['link', metadata.name, group].filter(Boolean).join('-') },
      spec: { cost: 1, endpoints: those, tlsCredentials: '' },
    })),
  };
}

/** @param number index among several links; 0 for a single link and for documents of other kinds */
function renamed(document: object, number: number, name: string | undefined, { cost, tlsCredentials }: GenerateLinkOptions): object {
  const fields: Readonly<Record<string, unknown>> = { ...document };
  const own = isLink(document) ? name : (tlsCredentials ?? name);
  const called = own === undefined ? {} : { name: number === 0 ? own : `${own}-${number}` };
  const metadata = isRecord(fields['metadata']) ? { ...fields['metadata'], ...called } : fields['metadata'];
  const { spec } = fields;
  if (!isLink(document) || !isRecord(spec)) return { ...fields, metadata };
  const bundle = tlsCredentials ?? name;
  return {
    ...fields,
    metadata,
    spec: { ...spec, ...(bundle === undefined ? {} : { tlsCredentials: bundle }), ...(cost === undefined ? {} : { cost }) },
  };
}
