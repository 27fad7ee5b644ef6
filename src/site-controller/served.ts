import { customResourceDefinitionsResource, type CustomResourceDefinition } from '../api/crd.ts';
import type { Cache, KubeClient, StartInformer } from '../kube/contract.ts';
import { askedToWait, isForbidden, isNotFound } from '../kube/errors.ts';
import type { Condition } from '../kube/objects.ts';
import type { Resource } from '../kube/resource.ts';
import type { Logger } from '../telemetry/log.ts';
import { reportResults } from '../telemetry/queue-metrics.ts';
import { WorkQueue } from '../work/queue.ts';
import { nameOf, type SiteCaches } from './caches.ts';
import { keptObjects } from './kept-objects.ts';

type Definition = CustomResourceDefinition & { readonly status?: { readonly conditions?: readonly Condition[] } };

interface Look {
  readonly client: Pick<KubeClient, 'page'>;
  /** All namespaces if undefined. */
  readonly namespace?: string | undefined;
  readonly signal: AbortSignal;
}

/**
 * Optional kinds that the cluster serves to this account.
 * @returns names in the format of `nameOf`
 */
export async function servedOptional(from: Look): Promise<ReadonlySet<string>> {
  const served = new Set<string>();
  for (const { of, optional = false } of keptObjects) {
    if (optional && (await isServed(of, from))) served.add(nameOf(of));
  }
  return served;
}

/**
 * Also caches kinds whose CRDs are installed, or reinstalled, while this process runs: the exposure half may be installed at the same time.
 */
export function followServed({
  start,
  client,
  caches,
  namespace,
  log,
  signal,
}: Look & {
  readonly start: StartInformer;
  readonly client: KubeClient;
  readonly caches: SiteCaches;
  readonly log: Logger;
}): AsyncDisposable {
  // CRDs are cluster-scoped: an account of one namespace cannot read them.
  const optional = namespace === undefined ? keptObjects.filter((kept) => kept.optional === true).map(({ of }) => of) : [];
  const byDefinition = Map.groupBy(optional, ({ plural, group }) => `${plural}.${group}`);
  const queue = new WorkQueue({
    name: 'kinds',
    log,
    concurrency: 1,
    backoff: { first: 100, max: 15_000 },
    askedToWait,
    reconcile: async (name, stopping) => {
      const absent = (byDefinition.get(name) ?? []).filter((of) => !caches.has(of));
      const definition = absent.length === 0 ? undefined : (await follow(name, stopping))?.get(name);
      for (const of of absent) {
        if (definition === undefined || !isEstablished(definition, of)) continue;
        await addServed(of, { client, namespace, signal: stopping }, caches);
        log.info({ kind: nameOf(of), kept: caches.has(of) }, 'the cluster serves an additional kind now');
      }
      return undefined;
    },
    onResult: reportResults('kinds', log),
  });
  const definitions = new Map<string, Cache<Definition>>();
  const follow = async (name: string, stopping: AbortSignal): Promise<Cache<Definition> | undefined> => {
    const known = definitions.get(name);
    if (known !== undefined) return known;
    const selection = { fieldSelector: `metadata.name=${name}` };
    const ask = (): Promise<unknown> => client.page(customResourceDefinitionsResource, selection, { limit: 1, signal: stopping });
    // Without the permission, waiting is useless.
    if (!(await isAllowed(ask))) return undefined;
    const cache = start<Definition>(client, customResourceDefinitionsResource, { ...selection, signal });
    definitions.set(name, cache);
    cache.onChange(() => queue.add(name));
    return cache;
  };
  const lookAtAll = (): void => {
    for (const name of byDefinition.keys()) queue.add(name);
  };
  const stopKinds = caches.onKind(lookAtAll);
  lookAtAll();
  return {
    async [Symbol.asyncDispose]() {
      stopKinds();
      await queue[Symbol.asyncDispose]();
    },
  };
}

function isEstablished({ spec, status }: Definition, { version }: Resource): boolean {
  return (
    spec.versions.some(({ name, served }) => name === version && served) &&
    status?.conditions?.some((condition) => condition.type === 'Established' && condition.status === 'True') === true
  );
}

/** Rejects while the API server does not serve the kind yet, which may take a moment. */
async function addServed(of: Resource, { client, namespace, signal }: Look, caches: SiteCaches): Promise<void> {
  if (await isAllowed(() => look(of, { client, namespace, signal }))) await caches.add(of);
}

async function isServed(of: Resource, { client, namespace, signal }: Look): Promise<boolean> {
  try {
    // The API server checks permissions first. Without them it does not matter whether the API exists.
    return await isAllowed(() => look(of, { client, namespace, signal }));
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

function look(of: Resource, { client, namespace, signal }: Look): Promise<unknown> {
  return client.page(of, namespace === undefined ? {} : { namespace }, { limit: 1, signal });
}

async function isAllowed(ask: () => Promise<unknown>): Promise<boolean> {
  try {
    await ask();
    return true;
  } catch (error) {
    if (isForbidden(error)) return false;
    throw error;
  }
}
