import { layoutOf } from '../../platform/linux/layout.ts';
import { openLedger } from '../../trust/disk/ledger.ts';
import { CliError } from '../errors.ts';
import { definedResources, removeManifest } from './input-files.ts';
import type { WaitOptions } from '../commands/options.ts';
import { createResource, deleteResource, notFound, resourcesOf, type SpecChange, type Target } from './resource-actions.ts';
import { printable, type Terminal } from '../output/terminal.ts';

export async function createSite(target: Target<'Site'>, name: string, change: SpecChange, options: WaitOptions): Promise<void> {
  const [other] = await resourcesOf(layoutOf(target.namespace), 'Site');
  if (other !== undefined) {
    const advice = 'Change it with `earshot site update`, or take another namespace (-n).';
    throw new CliError('exists', `The namespace ${target.namespace} has a site already: "${other.metadata.name}". ${advice}`);
  }
  await createResource(target, name, change, 'ready', options);
}

/** @throws CliError not-found where the namespace has none of that name */
export async function siteName(namespace: string, name: string | undefined): Promise<string> {
  const sites = (await resourcesOf(layoutOf(namespace), 'Site')).map(({ metadata }) => metadata.name ?? '');
  const [only] = sites;
  if (only === undefined)
    throw new CliError('not-found', `The namespace ${namespace} has no site yet: make one with \`earshot site create NAME\`.`);
  if (name !== undefined && !sites.includes(name)) throw notFound('Site', name, sites);
  return name ?? only;
}

export async function deleteSite(
  target: Target<'Site'>,
  given: string | undefined,
  options: { readonly all?: boolean; readonly wait: boolean; readonly timeout: number },
): Promise<void> {
  const name = await siteName(target.namespace, given);
  if (options.all === true) {
    const layout = layoutOf(target.namespace);
    for (const { manifest } of await definedResources(layout)) {
      const { kind, metadata } = manifest;
      if (kind === 'Site') continue;
      await removeManifest(layout, kind, metadata.name);
      target.terminal.out(`${kind} "${printable(metadata.name)}" is deleted.\n`);
    }
  }
  await deleteResource(target, name, options);
}

export async function revokeSite(namespace: string, site: string, terminal: Terminal): Promise<void> {
  const ledger = await openLedger(layoutOf(namespace).internal.trust);
  const { name, serials, siteIds } = await ledger.revoke(site);
  const count = (many: number, what: string): string => `${many} ${what}${many === 1 ? '' : 's'}`;
  const refused = `${count(serials.length, 'certificate')} and ${count(siteIds.length, 'site id')}`;
  terminal.out(`Site "${printable(name)}" is revoked: ${refused} are refused from now on.\n`);
}

export async function unrevokeSite(namespace: string, site: string, terminal: Terminal): Promise<void> {
  const ledger = await openLedger(layoutOf(namespace).internal.trust);
  if (!(await ledger.unrevoke(site))) {
    const names = (await ledger.revoked()).map(({ name }) => printable(name)).join(', ');
    throw new CliError('not-found', `No site "${printable(site)}" is revoked; ${names === '' ? 'none is' : `revoked are ${names}`}.`);
  }
  terminal.out(`Site "${printable(site)}" may link again. The links that it still has come back by themselves.\n`);
}
