/** Sources of a console for a site on this machine. */
import { machineSources as explainSources } from '../../explain/gather/machine-sources.ts';
import { layoutOf } from '../../platform/linux/layout.ts';
import { readRouterText } from '../../platform/linux/router-api.ts';
import type { Resources } from '../../platform/resources.ts';
import { redacted } from '../output/redact.ts';
import { explainObject, observeSite, type OpenSources } from './console-sources.ts';
import { machineRouters } from './site-routers.ts';

export function machineSources(resources: Resources): OpenSources {
  const layout = layoutOf(resources.namespace);
  const routers = machineRouters(layout);
  return {
    isMachine: true,
    sources: {
      resources,
      routers: () => routers.names(),
      ask: (router, path) => routers.ask(router, path),
      metrics: (router, read) => readRouterText(layout, router, '/metrics', read),
      observe: (router, site) => observeSite(routers, router, site),
      redacted,
      explain: (kind, name, probe) => explainObject({ site: explainSources(layout, resources), probe }, kind, name),
      now: () => Date.now(),
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}
