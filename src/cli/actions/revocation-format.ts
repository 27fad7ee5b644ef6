import type { RevokedSite } from '../../trust/stores.ts';
import { printable } from '../../text/printable.ts';
import { CliError } from '../errors.ts';

/** Formats the result of a revocation. */
export function formatRevocation({ name, serials, siteIds }: RevokedSite): string {
  const count = (many: number, what: string): string => `${many} ${what}${many === 1 ? '' : 's'}`;
  const refused = `${count(serials.length, 'certificate')} and ${count(siteIds.length, 'site id')}`;
  const what = name.startsWith('Certificate/') || (siteIds.length === 0 && serials[0] === name) ? 'Certificate' : 'Site';
  const ids = siteIds.length > 1 ? `Several sites have that name, and all are revoked: ${siteIds.join(', ')}.\n` : '';
  return `${what} "${printable(name.replace(/^Certificate\//, ''))}" is revoked: ${refused} are refused from now on.\n${ids}`;
}

export function notRevoked(site: string, revoked: readonly RevokedSite[]): CliError {
  const names = revoked.map(({ name }) => printable(name)).join(', ');
  return new CliError('not-found', `Site "${printable(site)}" is not revoked; revoked sites: ${names === '' ? 'none' : names}.`);
}
