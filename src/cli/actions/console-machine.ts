/** Sources of a console for a site on this machine. */
import { machineSources as explainSources } from '../../explain/gather/machine-sources.ts';
import { layoutOf } from '../../platform/linux/layout.ts';
import { askRouter, askRouterText } from '../../platform/linux/router-api.ts';
import { runningRouters } from '../../platform/linux/routers.ts';
import type { Resources } from '../../platform/resources.ts';
import { redacted } from '../output/redact.ts';
import { explainObject, type OpenSources } from './console-sources.ts';

/** Milliseconds. A router waits at most 5 s for other sites. */
const OBSERVE_PATIENCE = 7_000;

export function machineSources(resources: Resources): OpenSources {
  const layout = layoutOf(resources.namespace);
  return {
    isMachine: true,
    sources: {
      resources,
      routers: async () => (await runningRouters(layout)).map(({ router }) => router),
      ask: (router, path) => askRouter(layout, router, path),
      metrics: (router) => askRouterText(layout, router, '/metrics'),
      observe: (router, site) =>
        askRouter(layout, router, `/v1/observe?site=${encodeURIComponent(site)}`, 'POST', AbortSignal.timeout(OBSERVE_PATIENCE)),
      redacted,
      explain: (kind, name, probe) => explainObject({ site: explainSources(layout, resources), probe }, kind, name),
      now: () => Date.now(),
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}
