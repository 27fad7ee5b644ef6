/** Routers of a site on any platform, for commands that ask their API. */
import { layoutOf, type NamespaceLayout } from '../../platform/linux/layout.ts';
import { askRouter } from '../../platform/linux/router-api.ts';
import { runningRouters } from '../../platform/linux/routers.ts';
import type { AskableRouters } from '../../platform/resources.ts';
import { commandIn, type CommandPlace } from '../../text/command-in.ts';
import { isMachine, machineNamespace, type PlaceWords } from '../place.ts';
import { openCluster, platformFor } from '../resources.ts';
import { requireOwnNamespace } from '../own-namespace.ts';

export interface SiteRouters extends AskableRouters {
  readonly namespace: string;
  /** Place of the commands that messages propose. */
  readonly at: string | CommandPlace;
  /** Message that no router runs, with advice. */
  readonly notRunning: string;
}

/** Timeout in milliseconds of requests to a cluster. */
const PATIENCE = 10_000;

/** @throws CliError not-found if the namespace belongs to another user of this machine */
export async function openSiteRouters(words: PlaceWords): Promise<SiteRouters & AsyncDisposable> {
  if (isMachine((await platformFor(words)).platform)) {
    const namespace = machineNamespace(words, process.env);
    await requireOwnNamespace(namespace);
    return { ...machineRouters(layoutOf(namespace)), [Symbol.asyncDispose]: () => Promise.resolve() };
  }
  const [{ openRouters }, cluster] = await Promise.all([import('./open-routers.ts'), openCluster(words, PATIENCE)]);
  const { client, place } = cluster;
  const routers = openRouters(cluster);
  return {
    namespace: place.namespace,
    at: place,
    notRunning: `No router pod runs in the namespace ${place.namespace}. ${commandIn(place, 'site status')} says why.`,
    names: () => routers.names(),
    ask: routers.ask.bind(routers),
    async [Symbol.asyncDispose]() {
      routers[Symbol.dispose]();
      await client[Symbol.asyncDispose]();
    },
  };
}

export function machineRouters(layout: NamespaceLayout): SiteRouters {
  const { namespace } = layout;
  return {
    namespace,
    at: namespace,
    notRunning: `No process runs the namespace ${namespace}. Start it with ${commandIn(namespace, 'run')}.`,
    names: async () => (await runningRouters(layout)).map(({ router }) => router),
    ask: (router, path, method, signal) => askRouter(layout, router, path, method, signal),
  };
}
