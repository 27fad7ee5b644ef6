/** Plans what a site's router runs (pure: no clock, no files, no network). */
import type { Site } from '../../api/skupper/index.ts';
import type { RouterConfig } from '../../router/contract.ts';
import { kindNotOnPlatform, supportsKind, type Capabilities } from '../capabilities.ts';
import type { Material } from '../material.ts';
import { errorIn, warningIn, type ResourceProblem } from '../problem.ts';
import { allOf, keyOf, nameOf, type ResourceKey, type SiteResources } from '../resources.ts';
import { planAccesses } from './access.ts';
import { isGiven } from './fields.ts';
import { refusedWithSite } from './narrowing.ts';
import type { HeldPort } from './held-ports.ts';
import { livenessConflict, livenessOf } from './link-liveness.ts';
import { planAttached } from './plan-attached.ts';
import { planConnectors } from './plan-connectors.ts';
import { planLinks } from './plan-links.ts';
import type { SelectedPod } from './selected-pods.ts';
import { planListeners } from './plan-listeners.ts';
import { networkListProblems, siteNetworks, type PartNetworks } from '../networks.ts';
import { priorRevisionsOf } from './prior-revisions.ts';
import { SETTING, settingOf, settingProblems, sharingIn } from '../settings.ts';
import { surplusSiteProblem } from '../surplus-sites.ts';

/** Everything except identity, keys and what changes without a change of a resource. */
export type PlannedConfig = Pick<RouterConfig, 'edge' | 'listeners' | 'connectors' | 'links' | 'accesses' | 'liveness' | 'observe'>;

export interface SitePlan {
  /** The active Site; nothing runs without one. */
  readonly site?: Site;
  readonly config: PlannedConfig;
  readonly problems: readonly ResourceProblem[];
  /** Pods of each connector that has a selector. */
  readonly selectedPods: ReadonlyMap<ResourceKey, readonly SelectedPod[]>;
  /** Input of the next plan: a new listener does not take a port in use. */
  readonly heldPorts: readonly HeldPort[];
  /** Container network of each Listener and Connector that runs in one. */
  readonly networks: PartNetworks;
  /** Container networks in which the site has a router, whether or not it serves anything there. */
  readonly routerNetworks: readonly string[];
}

const nothing: PlannedConfig = { edge: false, listeners: [], connectors: [], links: [], accesses: [] };

/**
 * Omits invalid parts and reports them as problems; everything else is planned.
 * @param previous the last plan: a listener keeps its port if another wants it, and a Site its namespace
 * @param unread why the existing Site is unusable, if there is no usable one
 */
export function planSite(
  resources: SiteResources,
  material: Material,
  previous?: Pick<SitePlan, 'heldPorts' | 'site'>,
  unread?: string,
): SitePlan {
  const { site, problems: siteProblems } = chooseSite(resources, previous?.site);
  if (site === undefined) {
    return {
      config: nothing,
      problems: [...siteProblems, ...missingSite(resources, unread)],
      selectedPods: new Map(),
      heldPorts: [],
      networks: new Map(),
      routerNetworks: [],
    };
  }
  const listeners = planListeners(resources, site, material, previous?.heldPorts ?? []);
  const connectors = planConnectors(resources, site, material);
  const networks = new Map([...listeners.networks, ...connectors.networks]);
  const attached = planAttached(resources, material);
  const edge = site.spec?.edge ?? false;
  const accesses = planAccesses(resources, site, material);
  const liveness = livenessOf(site);
  const observe = sharingIn(settingOf(site, SETTING.observe));
  const refused = refusedWithSite(site, resources.Link);
  const links = planLinks(
    refused.length > 0 ? { ...resources, Link: [] } : resources,
    { edge, accesses: accesses.configs, priorRevisions: priorRevisionsOf(site) },
    material,
  );
  return {
    site,
    config: configOf(material.network, networks, {
      edge,
      listeners: listeners.configs,
      connectors: [...connectors.configs, ...attached.configs],
      links: links.configs,
      accesses: accesses.configs,
      ...(liveness === undefined ? {} : { liveness }),
      ...(observe === undefined ? {} : { observe }),
    }),
    networks,
    routerNetworks: material.capabilities.has('container-networks') ? siteNetworks(site) : [],
    problems: [
      ...siteProblems,
      ...refused.filter(({ resource }) => resource !== keyOf(site)),
      ...unusedOf(site, material.capabilities),
      ...networkListProblems(site, material.capabilities),
      ...allOf(resources).flatMap((object) => settingProblems(object, material.capabilities.has('services') ? 'kubernetes' : 'machine')),
      ...livenessConflict(site),
      ...unsupportedKinds(resources, material.capabilities),
      ...listeners.problems,
      ...connectors.problems,
      ...attached.problems,
      ...links.problems,
      ...accesses.problems,
    ],
    selectedPods: connectors.selected,
    heldPorts: listeners.held,
  };
}

/** Part of the site that a router serves. Only routers on the machine's own network have links, and ports for links. */
function configOf(own: string | undefined, networks: PartNetworks, whole: PlannedConfig): PlannedConfig {
  // Names of planned listeners and connectors in networks are keys of their resources.
  const isHere = ({ name }: { readonly name: string }): boolean => networks.get(name as ResourceKey) === own;
  const parts = { ...whole, listeners: whole.listeners.filter(isHere), connectors: whole.connectors.filter(isHere) };
  return own === undefined ? parts : { ...parts, links: [], accesses: [] };
}

/** A namespace is one site: the active Site, or else the first by name. */
export function chooseSite(
  resources: SiteResources,
  running: Site | undefined,
): { readonly site?: Site; readonly problems: readonly ResourceProblem[] } {
  const site = resources.Site.find((each) => running !== undefined && nameOf(each) === nameOf(running)) ?? resources.Site[0];
  if (site === undefined) return { problems: [] };
  const surplus = resources.Site.filter((each) => each !== site);
  return { site, problems: surplus.map((each) => surplusSiteProblem(each, site)) };
}

/** Fields of a Site that have no effect on its platform. */
function unusedOf(site: Site, capabilities: Capabilities): readonly ResourceProblem[] {
  const { serviceAccount } = site.spec;
  if (!isGiven(serviceAccount) || capabilities.has('service-accounts')) return [];
  const message = 'service accounts exist only on Kubernetes; remove the field.';
  return [warningIn(keyOf(site), 'spec.serviceAccount', 'not-on-platform', message)];
}

function unsupportedKinds(resources: SiteResources, capabilities: Capabilities): readonly ResourceProblem[] {
  return allOf(resources)
    .filter(({ kind }) => !supportsKind(kind, capabilities))
    .map((object) => errorIn(keyOf(object), 'kind', 'not-on-platform', kindNotOnPlatform(object.kind)));
}

function missingSite(resources: SiteResources, unread: string | undefined): readonly ResourceProblem[] {
  return allOf(resources).map((object): ResourceProblem => ({
    resource: keyOf(object),
    severity: 'error',
    code: 'no-site',
    message:
      unread === undefined
        ? 'this namespace has no Site, so no router runs in it; create one.'
        : `no site runs in this namespace: ${unread}`,
  }));
}
