import type { Site } from '../../api/skupper/index.ts';
import { EarshotError } from '../../errors/earshot-error.ts';
import { unreachableText } from '../../site/site-endpoints.ts';
import { isRecord } from '../../text/is-record.ts';
import { parseYaml } from '../../text/yaml.ts';
import type { OfferedLink } from '../resources.ts';
import type { NamespaceLayout } from './layout.ts';
import { OfflineLinkFiles } from './offline-links.ts';

/** Returns the link that the running process keeps in `runtime/links`. */
export async function linkToHere(layout: NamespaceLayout, { status }: Site, desired: string | undefined): Promise<OfferedLink> {
  const links = new OfflineLinkFiles(layout.runtime.links);
  const offered = (status?.endpoints ?? []).flatMap(({ host, group }) =>
    host === undefined || group === undefined ? [] : [{ host, access: group }],
  );
  if (offered.length === 0) return { waitingFor: 'the site does not listen for links yet' };
  const { host, access } = choose(offered, desired);
  const text = await links.read(`link-${access}`, host);
  const documents = text === undefined || text === '' ? [] : parseYaml(text).filter(isRecord);
  return documents.length > 0 ? { documents } : { waitingFor: 'its certificate does not exist yet' };
}

/** Host under which other sites reach this one, and its access. */
interface Offered {
  readonly host: string;
  readonly access: string;
}

/** @throws EarshotError not-found if the site has no such host */
function choose(offered: readonly Offered[], host: string | undefined): Offered {
  // Loopback addresses come last, since other machines cannot use them.
  const found = host === undefined ? offered.toSorted(byUse)[0] : offered.find((one) => one.host === host);
  if (found !== undefined) return found;
  const hosts = [...new Set(offered.map((one) => one.host))];
  throw new EarshotError('not-found', unreachableText(host ?? '', hosts));
}

function byUse(one: Offered, other: Offered): number {
  return Number(isLoopback(one)) - Number(isLoopback(other));
}

const isLoopback = ({ host }: Offered): boolean => host === 'localhost' || host === '::1' || host.startsWith('127.');
