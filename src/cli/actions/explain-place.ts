/** Opens the place whose objects `explain` and `check` examine. */
import type { ExplainPlace } from '../../explain/gather/explainable-kinds.ts';
import { layoutOf } from '../../platform/linux/layout.ts';
import type { Resources } from '../../platform/resources.ts';
import { isMachine, type PlaceWords } from '../place.ts';
import { openCluster, openResources, platformFor } from '../resources.ts';

export interface OpenPlace extends AsyncDisposable {
  readonly resources: Resources;
  readonly place: Omit<ExplainPlace, 'probe'>;
}

/** Timeout in milliseconds of requests to a cluster. */
const PATIENCE = 2_000;

export async function openPlace(words: PlaceWords): Promise<OpenPlace> {
  const resources = await openResources(words, undefined, PATIENCE);
  if (isMachine((await platformFor(words)).platform)) {
    const { machineSources } = await import('../../explain/gather/machine-sources.ts');
    const site = machineSources(layoutOf(resources.namespace), resources);
    return { resources, place: { site }, [Symbol.asyncDispose]: () => Promise.resolve() };
  }
  const [cluster, { openRouters }, { routerSources }] = await Promise.all([
    openCluster(words, PATIENCE),
    import('./open-routers.ts'),
    import('../../explain/gather/router-sources.ts'),
  ]);
  const { client, place } = cluster;
  const routers = openRouters(cluster);
  const site = { resources, ...routerSources(routers), connect: () => routers.connect() };
  return {
    resources,
    place: { site, cluster: { client, namespace: place.namespace } },
    async [Symbol.asyncDispose]() {
      routers[Symbol.dispose]();
      await client[Symbol.asyncDispose]();
    },
  };
}
