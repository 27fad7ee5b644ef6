/** Treats a link and the token that it was created from as one: deleting or showing a link covers its pending token too. */
import type { AccessToken, IncomingLink } from '../../api/skupper/index.ts';
import type { Resources } from '../../platform/resources.ts';
import { resourceTable, table, type OutputFormat } from '../output/output.ts';
import { deleteResource, namesOf, showStatus, type DeleteOptions, type Target } from './resource-actions.ts';

export async function showLinks(target: Target, name: string | undefined, output: OutputFormat | undefined): Promise<void> {
  const { resources, terminal } = target;
  const waiting = await pendingTokens(resources);
  if (name !== undefined && waiting.some(({ metadata }) => metadata.name === name)) {
    await showStatus({ ...target, kind: 'AccessToken' }, name, output);
    return;
  }
  await showStatus(target, name, output);
  if (name !== undefined || output !== undefined) return;
  if (waiting.length > 0) terminal.out(`\nTokens being redeemed\n${resourceTable('AccessToken', waiting)}`);
  const incoming = (await resources.list('Site')).flatMap(({ status }) => status?.incomingLinks ?? []);
  if (incoming.length > 0) terminal.out(`\nLinks from other sites\n${incomingTable(incoming)}`);
}

function incomingTable(links: readonly IncomingLink[]): string {
  const rows = links.map(({ siteName, siteId, operational, cost, address, since, message }) => [
    siteName ?? siteId ?? '-',
    operational === true ? 'Up' : 'Down',
    cost === undefined ? '-' : String(cost),
    address ?? '-',
    since ?? '-',
    message ?? (operational === true ? 'OK' : '-'),
  ]);
  return table(['SITE', 'STATUS', 'COST', 'ADDRESS', 'SINCE', 'MESSAGE'], rows);
}

/**
 * Deletes the token first. Then it deletes the Links that the site created from it until the deletion: one, or one for each
 * router.
 */
export async function deleteLink(target: Target, name: string, options: DeleteOptions): Promise<void> {
  const { resources } = target;
  const isToken = (await resources.find('AccessToken', name)) !== undefined;
  const isLink = (await resources.find('Link', name)) !== undefined;
  if (isToken && !isLink) await deleteResource({ ...target, kind: 'AccessToken' }, name, options);
  const created = isLink ? [] : await linksOfToken(resources, name);
  for (const link of created) await deleteResource(target, link, options);
  if (created.length > 0) return;
  if (!isToken || (await resources.find('Link', name)) !== undefined) await deleteResource(target, name, options);
}

/** Names of the Links NAME-1, NAME-2, … that were created from a token of a site with several routers. */
async function linksOfToken(resources: Resources, token: string): Promise<readonly string[]> {
  const created: string[] = [];
  for (let number = 1; ; number += 1) {
    const name = `${token}-${number}`;
    const found = await resources.find('Link', name);
    if (found?.manifest.spec?.['tlsCredentials'] !== token) return created;
    created.push(name);
  }
}

async function pendingTokens(resources: Resources): Promise<readonly AccessToken[]> {
  const [tokens, links] = await Promise.all([resources.list('AccessToken'), namesOf(resources, 'Link')]);
  return tokens.filter(({ metadata, status }) => status?.redeemed !== true && !links.includes(metadata.name ?? ''));
}
