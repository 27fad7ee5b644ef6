/** Statuses that the controller writes: those of all kinds except the ones that a site's routers report. */
import type { AnyStatus } from '../site/observe/observe.ts';
import { observeSite } from '../site/observe/observe.ts';
import type { TrustFacts } from '../site/observe/trust-facts.ts';
import { chooseSite } from '../site/plan/plan.ts';
import type { ResourceProblem } from '../site/problem.ts';
import { allOf, keyOf, type Kind, type ResourceKey } from '../site/resources.ts';
import { settingProblems } from '../site/settings.ts';
import { kubernetes } from '../site/cluster-platform.ts';
import { attachedConnectorsOf } from './attached/attached-connectors.ts';
import { passedOn } from './access/passed-on.ts';
import type { NamespaceView } from './namespace-view.ts';
import { routerFacts } from './site/router-facts.ts';
import { defaultIssuerOf } from './site/site-spec.ts';

/** The leading router of a site writes their statuses. Without a Site, only the controller can. */
const OF_ROUTERS: ReadonlySet<Kind> = new Set(['Listener', 'MultiKeyListener', 'Connector', 'Link']);

export const isOfRouters = (kind: Kind): boolean => OF_ROUTERS.has(kind);

/** Kinds that work in a namespace without a Site, such as the controller's own. */
const WITHOUT_SITE: ReadonlySet<Kind> = new Set(['SecuredAccess', 'Certificate', 'AttachedConnector']);

export interface Observed {
  readonly problems: readonly ResourceProblem[];
  readonly trust: TrustFacts;
}

/** @param now RFC 3339 time, to the second */
export function observeNamespace(view: NamespaceView, { problems, trust }: Observed, now: string): ReadonlyMap<ResourceKey, AnyStatus> {
  const { resources, site, settings } = view;
  const previous = new Map(
    allOf(resources).flatMap((object) => (object.status === undefined ? [] : [[keyOf(object), object.status] as const])),
  );
  const { problems: ofSites } = chooseSite(resources, site);
  const absent =
    site === undefined
      ? allOf(resources)
          .filter(({ kind }) => !WITHOUT_SITE.has(kind))
          .map((object): ResourceProblem => ({
            resource: keyOf(object),
            severity: 'error',
            code: 'no-site',
            message: 'this namespace has no Site, so no router runs in it; create one.',
          }))
      : [];
  const { name, namespace, version } = settings;
  const attached = attachedConnectorsOf(view);
  const ofSettings = allOf(resources).flatMap((object) => (isOfRouters(object.kind) ? [] : settingProblems(object, 'kubernetes')));
  const statuses = observeSite(
    {
      resources,
      ...(site === undefined ? {} : { leftOut: OF_ROUTERS }),
      plan: {
        ...(site === undefined ? {} : { site }),
        config: { edge: false, listeners: [], connectors: [], links: [], accesses: [] },
        problems: [],
        selectedPods: attached.selected,
        heldPorts: [],
        networks: new Map(),
        routerNetworks: [],
      },
      wording: 'words',
      problems: [...ofSites, ...absent, ...problems, ...passedOn(problems, resources), ...ofSettings],
      trust: site === undefined ? trust : { defaultIssuer: defaultIssuerOf(site), ...trust },
      reach: { kind: 'forwarded', addresses: {} },
      routers: routerFacts(view),
      access: kubernetes.access,
      controller: { name, namespace, version },
    },
    previous,
    now,
  );
  return new Map([...statuses].filter(([key]) => !attached.unknown.has(key)));
}
