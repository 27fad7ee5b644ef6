import { DEFAULT_EXPIRATION_WINDOW } from '../../api/skupper/names.ts';
import { randomInt } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { AccessGrantStatus, AccessToken, Link } from '../../api/skupper/index.ts';
import { readToken } from '../../trust/tokens/token.ts';
import type { Token } from '../../trust/tokens/contract.ts';
import { readText, writeDurably } from '../../files/durable.ts';
import { commandIn } from '../../text/command-in.ts';
import type { Resources } from '../../platform/resources.ts';
import { CliError } from '../errors.ts';
import type { Terminal } from '../output/terminal.ts';
import { ensureSite } from './ensure-site.ts';
import { isLinkable } from './link-actions.ts';
import { checked, manifest, notFound } from './resource-actions.ts';
import { addressesFor, reachText, settingsOf, type TokenAddresses } from './token-addresses.ts';
import { requireRunning, waitForStatus, waitUntil, withSentence, type Context } from './waiting.ts';
import { printable } from '../../text/printable.ts';
import { isResourceName } from '../../text/names.ts';
import { writeYaml } from '../../text/write-yaml.ts';
import { REDEMPTION_IS_RETRIED } from '../../site/observe/observe-trust.ts';
import { sortActiveFirst } from '../../site/surplus-sites.ts';

export interface IssueOptions {
  readonly expirationWindow?: string;
  readonly redemptionsAllowed?: number;
  readonly cost?: number;
  readonly grant?: string;
  readonly name?: string;
  readonly host?: string;
  readonly timeout: number;
  /** Name of the site to create and start first: see `ensureSite`. */
  readonly createSite?: string;
}

export interface RedeemOptions {
  readonly linkCost?: number;
  readonly name?: string;
  readonly timeout: number;
  /** Name of the site to create and start first: see `ensureSite`. */
  readonly createSite?: string;
}

export async function issueToken(context: Context, file: string, options: IssueOptions): Promise<void> {
  const { resources, terminal } = context;
  const { createSite, timeout } = options;
  if (createSite !== undefined) await ensureSite(context, createSite, { linkAccess: 'default' }, timeout);
  await requireRunning(resources);
  const site = await requireLinkable(resources);
  const name = options.grant ?? options.name ?? freshName(site);
  if (options.grant === undefined) await makeGrant(resources, name, options);
  else if ((await resources.find('AccessGrant', name)) === undefined) throw await notFound(resources, 'AccessGrant', name);
  const issued = await tokenOf(context, name, options).catch(async (error: unknown) => {
    // A grant from which no token was issued is of no use.
    if (options.grant === undefined) await resources.remove('AccessGrant', name);
    throw error;
  });
  const text = writeYaml(manifest('AccessToken', options.name ?? name, issued.spec));
  if (file === '-') terminal.out(text);
  else {
    await mkdir(dirname(resolve(file)), { recursive: true });
    await writeDurably(resolve(file), text, 0o600);
    terminal.out(`Wrote token file ${file}.\n`);
  }
  const end = issued.expires === undefined ? '' : ` until ${issued.expires}`;
  terminal.note(
    `Transfer it to the other site securely, and redeem it there${end}: \`earshot token redeem ${file === '-' ? 'FILE' : file}\`\n`,
  );
  terminal.note(`${reachText(issued.addresses)}\n`);
}

interface IssuedToken {
  readonly spec: Readonly<Record<string, unknown>>;
  readonly addresses: TokenAddresses;
  readonly expires: string | undefined;
}

async function tokenOf(context: Context, grant: string, { host, cost, timeout }: IssueOptions): Promise<IssuedToken> {
  const { url, code, ca, expirationTime: expires } = await readyGrant(context, grant, timeout);
  if (url === undefined || code === undefined || ca === undefined) {
    const look = commandIn(context.resources, `token status ${grant} -o yaml`);
    throw new CliError('failed', `AccessGrant "${grant}" is ready, but its status has no url, code or ca. Show it with ${look}.`);
  }
  const addresses = await addressesFor(url, host, context.resources);
  const linkCost = cost === undefined ? {} : { linkCost: cost };
  return { spec: { url: addresses.url, code, ca, ...linkCost, ...settingsOf(addresses.otherUrls) }, addresses, expires };
}

async function readyGrant(context: Context, name: string, timeout: number): Promise<AccessGrantStatus> {
  return waitUntil<AccessGrantStatus>(context, `AccessGrant "${name}" to be ready`, timeout, async () => {
    const { status } = (await context.resources.get('AccessGrant', name)) ?? {};
    if (status?.status === 'Ready') return { done: status };
    return { waitingFor: status?.message ?? 'the site has not adopted it', error: status?.status === 'Error' };
  });
}

/**
 * @returns the site's name
 * @throws CliError if no other site could use a link to this one
 */
async function requireLinkable(resources: Resources): Promise<string> {
  const [site] = sortActiveFirst(await resources.list('Site'));
  if (site === undefined) {
    const command = commandIn(resources, 'site create NAME --enable-link-access');
    throw new CliError('not-found', `The namespace ${resources.namespace} has no site yet: create one with ${command}.`);
  }
  if (await isLinkable(resources, site)) return site.metadata.name ?? 'site';
  const change =
    site.spec.edge === true
      ? commandIn(resources, 'site update --no-edge --enable-link-access')
      : commandIn(resources, 'site update --enable-link-access');
  throw new CliError('failed', `Site "${site.metadata.name}" does not accept links: allow them with ${change}.`);
}

async function makeGrant(resources: Resources, name: string, { expirationWindow, redemptionsAllowed }: IssueOptions): Promise<void> {
  const spec = { redemptionsAllowed: redemptionsAllowed ?? 1, expirationWindow: expirationWindow ?? DEFAULT_EXPIRATION_WINDOW };
  const grant = manifest('AccessGrant', name, spec);
  checked('AccessGrant', grant);
  if ((await resources.find('AccessGrant', name)) !== undefined) {
    throw new CliError('exists', `AccessGrant "${name}" already exists: use it with --grant ${name}, or choose another --name.`);
  }
  await resources.put(grant);
}

/** An unused name: the site's name and five random characters. */
function freshName(site: string): string {
  const suffix = Array.from({ length: 5 }, () => randomInt(36).toString(36)).join('');
  return `${site.slice(0, 40)}-${suffix}`;
}

export async function redeemTokenFile(context: Context, file: string, options: RedeemOptions): Promise<void> {
  const { resources, terminal } = context;
  const token = await readTokenFile(file, terminal);
  const name = options.name ?? token.name;
  if (!isResourceName(name)) throw new CliError('usage', `"${printable(name)}" is not a valid name of a link; choose another with --name.`);
  if (options.createSite !== undefined) await ensureSite(context, options.createSite, {}, options.timeout);
  await requireRunning(resources);
  const linkCost = options.linkCost ?? token.linkCost;
  const desired = manifest('AccessToken', name, {
    url: token.url,
    code: token.code,
    ca: token.ca,
    ...(linkCost === undefined ? {} : { linkCost }),
    ...settingsOf(token.otherUrls),
  });
  const resource = checked('AccessToken', desired);
  await requireUnused(resources, resource);
  await resources.put(desired);
  const link = await redeemed(context, resource, options.timeout).catch(async (error: unknown) => {
    throw error instanceof CliError ? await afterFailure(resources, name, error) : error;
  });
  const { remoteSiteName } = link.status ?? {};
  terminal.out(
    `Link "${link.metadata.name ?? name}" is ready${remoteSiteName === undefined ? '' : `: it connects to site "${printable(remoteSiteName)}"`}.\n`,
  );
  if (file !== '-') terminal.note(`${file} is no longer needed and can be deleted.\n`);
}

/**
 * After a timeout the token stays and is tried further. A failed token is removed again. A link that was created is left for the
 * user to decide.
 */
async function afterFailure(resources: Resources, name: string, error: CliError): Promise<CliError> {
  const isMade = (await linkOf(resources, name)) !== undefined || (await isWritten(resources, name));
  const ends = `${commandIn(resources, `link delete ${name}`)} stops it.`;
  if (isMade) return withSentence(error, `The site continues to try the link; ${ends}`);
  if (error.code !== 'failed') return withSentence(error, `The site continues to try the token; ${ends}`);
  await resources.remove('AccessToken', name);
  const ended = new CliError(error.code, error.message.replace(REDEMPTION_IS_RETRIED, ''), error.cause);
  return withSentence(ended, 'The token was removed from the namespace, so it is not tried again.');
}

async function redeemed(context: Context, token: AccessToken, timeout: number): Promise<Link> {
  const { resources } = context;
  const name = token.metadata.name ?? '';
  await waitForStatus(context, token, 'ready', { wait: 'ready', timeout });
  return waitUntil<Link>(context, `Link "${name}" to be ready`, timeout, async () => {
    const found = await linkOf(resources, name);
    if (found?.status?.status === 'Ready') return { done: found };
    if (found !== undefined) return { waitingFor: found.status?.message ?? 'it is Pending', error: found.status?.status === 'Error' };
    const isMade = await isWritten(resources, name);
    const used = 'this token was already redeemed, and its link was deleted: get a new token from the other site';
    return isMade ? { waitingFor: 'the site has not adopted it' } : { waitingFor: used, error: true };
  });
}

/** A token of a site with several routers creates a Link to each of them: NAME-1, NAME-2. */
async function linkOf(resources: Resources, name: string): Promise<Link | undefined> {
  const found = await resources.get('Link', name);
  return found ?? (await resources.get('Link', `${name}-1`));
}

async function isWritten(resources: Resources, name: string): Promise<boolean> {
  return ((await resources.find('Link', name)) ?? (await resources.find('Link', `${name}-1`))) !== undefined;
}

async function readTokenFile(file: string, terminal: Terminal): Promise<Token> {
  const text = file === '-' ? await terminal.input() : await readText(resolve(file), { bytes: 256 * 1024 });
  if (text === undefined) throw new CliError('not-found', `The file ${file} does not exist.`);
  return readToken(text, file === '-' ? 'standard input' : file);
}

/** Redeeming the same token again after an interrupted attempt continues that attempt. */
async function requireUnused(resources: Resources, { metadata, spec }: AccessToken): Promise<void> {
  const name = metadata.name ?? '';
  const before = (await resources.list('AccessToken')).find((token) => token.metadata.name === name);
  const advice = `choose another name with --name, or delete it with ${commandIn(resources, `link delete ${name}`)}`;
  if (before !== undefined && before.spec.code !== spec.code)
    throw new CliError('exists', `Another AccessToken "${name}" already exists: ${advice}.`);
  if (before === undefined && (await resources.find('Link', name)) !== undefined) {
    throw new CliError('exists', `Link "${name}" already exists: ${advice}.`);
  }
}
