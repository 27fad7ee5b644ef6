/** Finds out before a console starts whether its namespace may be mistyped. */
import { existsSync } from 'node:fs';
import { skupperResources } from '../../api/skupper/index.ts';
import { namespaces } from '../../explain/gather/pod-security.ts';
import type { KubeClient } from '../../kube/contract.ts';
import { isNotFound } from '../../kube/errors.ts';
import { layoutOf } from '../../platform/linux/layout.ts';
import { commandIn } from '../../text/command-in.ts';
import { listFirst } from '../../text/list-some.ts';
import { isLabel } from '../../text/names.ts';
import { didYouMean } from '../../text/nearest.ts';
import { sentence } from '../../text/sentence.ts';
import { CliError } from '../errors.ts';
import { namespacesHere } from '../own-namespace.ts';
import type { Cluster } from '../resources.ts';

const MOST_NAMED = 10;
/** Maximum number of Sites that are read for suggestions. */
const MOST_SITES = 500;

/** @throws CliError not-found if this machine does not have the namespace */
export async function requireNamespaceHere(namespace: string): Promise<void> {
  if (existsSync(layoutOf(namespace).root)) return;
  const here = await namespacesHere();
  const begins = sentence(`The namespace ${namespace} of this machine does not exist${didYouMean(namespace, here)}`);
  const create = `Create a site there with ${commandIn(namespace, 'site create NAME')}.`;
  throw new CliError('not-found', `${begins} ${listed('of this machine', here) ?? create}`);
}

/**
 * Describes a namespace that does not exist, or does not have a Site. The latter is right if a cluster only exposes pods.
 * @param here namespaces of this machine that may be meant
 * @returns undefined if nothing is wrong, or if the user may not find out
 */
export async function describeMissingSite(
  {
    client,
    place,
  }: { readonly client: Pick<KubeClient, 'page' | 'find'>; readonly place: Pick<Cluster['place'], 'namespace' | 'cluster'> },
  here: readonly string[],
): Promise<string | undefined> {
  const { namespace, cluster } = place;
  const [found, isThere] = await Promise.all([
    siteNamespaces(client, namespace),
    client.find(namespaces, { name: namespace }).then(
      (object) => object !== undefined,
      () => undefined,
    ),
  ]);
  const isExposureOnly = found === 'no definition' && isThere !== false;
  if (isExposureOnly || found === undefined || found.includes(namespace)) return undefined;
  const others = found === 'no definition' ? [] : ((await siteNamespaces(client)) ?? []);
  const withSite = others === 'no definition' ? [] : others;
  const what = isThere === false ? 'does not exist' : 'does not have a Site';
  const begins = sentence(`The namespace ${namespace} of ${cluster} ${what}${didYouMean(namespace, [...withSite, ...here])}`);
  return [begins, listed('with a Site', withSite), listed('of this machine', here)].filter((part) => part !== undefined).join(' ');
}

/** @returns undefined if the user may not list Sites there */
async function siteNamespaces(
  client: Pick<KubeClient, 'page'>,
  namespace?: string,
): Promise<readonly string[] | 'no definition' | undefined> {
  try {
    const selection = namespace === undefined ? {} : { namespace };
    const { items } = await client.page(skupperResources.Site, selection, { limit: MOST_SITES });
    return [...new Set(items.map(({ metadata }) => metadata.namespace ?? namespace ?? ''))].filter(isLabel).toSorted();
  } catch (error) {
    return isNotFound(error) ? 'no definition' : undefined;
  }
}

const listed = (which: string, names: readonly string[]): string | undefined =>
  names.length === 0 ? undefined : `Namespaces ${which}: ${listFirst(names, MOST_NAMED)}.`;
