import { commandIn } from '../../text/command-in.ts';
import type { OfferedLink, Resources } from '../../platform/resources.ts';
import type { Site } from '../../api/skupper/index.ts';
import { acceptsLinks } from '../../site/plan/access.ts';
import { CliError } from '../errors.ts';
import { listOf, structured, type OutputFormat } from '../output/output.ts';
import { requireRunning, waitUntil, type Context } from './waiting.ts';
import { isRecord } from '../../text/is-record.ts';

export interface GenerateLinkOptions {
  readonly cost?: number;
  readonly host?: string;
  readonly timeout: number;
  readonly output: OutputFormat;
}

/** Prints what the other site is to apply, under another name and cost where asked for. */
export async function generateLink(context: Context, name: string | undefined, options: GenerateLinkOptions): Promise<void> {
  const { resources, terminal } = context;
  await requireRunning(resources);
  const documents = await waitUntil(context, 'a link to this site', options.timeout, async () => {
    const sites = await resources.list('Site');
    const site = sites.find(({ status }) => (status?.endpoints ?? []).length > 0) ?? sites[0];
    if ((site?.status?.endpoints ?? []).length === 0) await requireLinkable(resources);
    const offered: OfferedLink = site === undefined ? { waitingFor: 'there is no site yet' } : await resources.linkTo(site, options.host);
    return 'documents' in offered ? { done: offered.documents } : offered;
  });
  const count = documents.filter(isLink).length;
  let number = 0;
  const printed = documents.map((document) => renamed(document, isLink(document) && count > 1 ? (number += 1) : 0, name, options.cost));
  terminal.out(
    options.output === 'json'
      ? structured(listOf(printed), 'json')
      : printed.map((document) => `---\n${structured(document, 'yaml')}`).join(''),
  );
}

const isLink = (document: object): boolean => new Map(Object.entries(document)).get('kind') === 'Link';

/** @throws CliError failed where no other site could use a link to this one */
async function requireLinkable(resources: Resources): Promise<void> {
  const [site] = await resources.list('Site');
  if (site !== undefined && (await isLinkable(resources, site))) return;
  const command = commandIn(resources, 'site update --enable-link-access');
  throw new CliError('failed', `No other site can link to this one yet: let them in with ${command}.`);
}

export async function isLinkable(resources: Resources, site: Site): Promise<boolean> {
  // Of one that cannot be read there is only a status.
  const RouterAccess = (await resources.list('RouterAccess')).filter(({ spec }) => 'roles' in spec);
  return acceptsLinks({ RouterAccess }, site);
}

/** @param number of several links; 0 of an only one, and of what is no link */
function renamed(document: object, number: number, name: string | undefined, cost: number | undefined): object {
  const fields: Readonly<Record<string, unknown>> = { ...document };
  const called = name === undefined ? {} : { name: number === 0 ? name : `${name}-${number}` };
  const metadata = isRecord(fields['metadata']) ? { ...fields['metadata'], ...called } : fields['metadata'];
  const { spec } = fields;
  if (!isLink(document) || !isRecord(spec)) return { ...fields, metadata };
  return {
    ...fields,
    metadata,
    spec: { ...spec, ...(name === undefined ? {} : { tlsCredentials: name }), ...(cost === undefined ? {} : { cost }) },
  };
}
