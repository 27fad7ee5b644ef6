import { commandIn } from '../../text/command-in.ts';
import { otherSites } from '../../site/other-sites.ts';
import { listRuntime } from '../../platform/linux/runtime-resources.ts';
import { routersBehind } from '../../platform/linux/confirmed-revocations.ts';
import { layoutOf } from '../../platform/linux/layout.ts';
import type { Resources } from '../../platform/resources.ts';
import { openLedger } from '../../trust/disk/ledger.ts';
import { revocationsOf } from '../../trust/revocation.ts';
import { pause } from '../../work/pause.ts';
import { CliError } from '../errors.ts';
import type { OutputFormat } from '../output/output.ts';
import type { Terminal } from '../output/terminal.ts';
import {
  createResource,
  deleteResource,
  namesOf,
  notFound,
  showStatus,
  updateResource,
  type DeleteOptions,
  type SpecChange,
  type Target,
} from './resource-actions.ts';
import { notRevoked, formatRevocation } from './revocation-format.ts';
import type { Wait, WaitOptions } from './waiting.ts';
import { printable } from '../../text/printable.ts';

export async function createSite(target: Target, name: string, change: SpecChange, usual: Wait, options: WaitOptions): Promise<void> {
  const [other] = await namesOf(target.resources, 'Site');
  if (other !== undefined) {
    const { namespace } = target.resources;
    const advice = `Change it with ${commandIn(target.resources, 'site update')}, or choose another namespace (-n).`;
    throw new CliError('exists', `The namespace ${namespace} already has a site: "${other}". ${advice}`);
  }
  await createResource(target, name, change, usual, options);
}

export async function updateSite(
  target: Target,
  given: string | undefined,
  change: SpecChange,
  usual: Wait,
  options: WaitOptions,
): Promise<void> {
  await updateResource(target, await siteName(target.resources, given), change, usual, options);
}

/** Deletes the site. With `all` it also deletes the resources that an earlier deletion of the site left. */
export async function deleteSite(
  target: Target,
  given: string | undefined,
  options: DeleteOptions & { readonly all?: boolean },
): Promise<void> {
  const { resources, terminal } = target;
  const others = (await resources.written()).map(({ manifest }) => manifest).filter(({ kind }) => kind !== 'Site');
  const isLeft = options.all === true && given === undefined && others.length > 0 && (await namesOf(resources, 'Site')).length === 0;
  const name = isLeft ? undefined : await siteName(resources, given);
  for (const { kind, metadata } of options.all === true ? others : []) {
    await resources.remove(kind, metadata.name);
    terminal.out(`${kind} "${printable(metadata.name)}" is deleted.\n`);
  }
  if (name === undefined) return;
  await deleteResource(target, name, options);
  if (options.all !== true && others.length > 0) {
    const what =
      others.length === 1 ? 'One other resource of the namespace remains' : `${others.length} other resources of the namespace remain`;
    terminal.note(`${what}. Delete the rest with ${commandIn(resources, 'site delete --all')}.\n`);
  }
}

export function noSite(resources: Resources): CliError {
  return new CliError(
    'not-found',
    `The namespace ${resources.namespace} has no site yet: create one with ${commandIn(resources, 'site create NAME')}.`,
  );
}

/** @throws CliError not-found if the namespace has no site of that name */
async function siteName(resources: Resources, given: string | undefined): Promise<string> {
  const sites = await namesOf(resources, 'Site');
  const [only] = sites;
  if (only === undefined) throw noSite(resources);
  if (given !== undefined && !sites.includes(given)) throw await notFound(resources, 'Site', given);
  return given ?? only;
}

/** Shows the site and its revocations, which are not stored in a resource. */
export async function showSite(target: Target, name: string | undefined, output: OutputFormat | undefined): Promise<void> {
  const { resources, terminal } = target;
  await showStatus(target, name, output);
  if (output !== undefined) return;
  const revoked = await resources.revoked();
  if (revoked.length === 0) return;
  const days = revoked.map(({ name: site, at }) => `${printable(site)} (${new Date(at).toISOString().slice(0, 10)})`);
  terminal.out(`\nRevoked: ${days.join(', ')}\n`);
}

/** Time in which a running site processes a revocation, and interval between checks, in milliseconds. */
const IN_FORCE = 10_000;
const LOOK = 20;

/** Revokes a site and returns once every running router refuses it. */
export async function revokeSite(namespace: string, site: string, terminal: Terminal, within = IN_FORCE): Promise<void> {
  const onDamage = ({ message }: Error): void => terminal.note(`Warning: ${message}.\n`);
  const layout = layoutOf(namespace);
  const [own] = await listRuntime(layout, 'Site');
  const ledger = await openLedger(layout.internal.root, { onDamage, network: own === undefined ? [] : otherSites(own) });
  terminal.out(formatRevocation(await ledger.revoke(site)));
  const end = performance.now() + within;
  for (;;) {
    const behind = await routersBehind(layout, revocationsOf(await ledger.revoked()));
    if (behind.length === 0) return;
    if (performance.now() >= end) {
      const which = behind.map((router) => `"${printable(router)}"`).join(', ');
      const advice = 'Its open connections may continue until then. See its log for the reason, or stop it.';
      throw new CliError('not-ready', `Timed out after ${within / 1000} s: router ${which} does not refuse the site yet. ${advice}`);
    }
    await pause(LOOK);
  }
}

export async function unrevokeSite(namespace: string, site: string, terminal: Terminal): Promise<void> {
  const ledger = await openLedger(layoutOf(namespace).internal.root);
  if (!(await ledger.unrevoke(site))) throw notRevoked(site, await ledger.revoked());
  terminal.out(`Site "${printable(site)}" may link again. Its existing links reconnect automatically.\n`);
}
