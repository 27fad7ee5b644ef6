import type { Listener, MultiKeyListener, Site } from '../../api/skupper/index.ts';
import type { Observer, TlsBundle } from '../../router/contract.ts';
import type { Capabilities } from '../capabilities.ts';
import { findBundle, type FoundBundle } from '../find-bundle.ts';
import type { Material } from '../material.ts';
import { errorIn, hasErrors, warningIn, type ResourceProblem } from '../problem.ts';
import { keyOf, type ResourceKey, type SiteResources } from '../resources.ts';
import { isGiven, isWildcard, notAHost } from './fields.ts';
import { sharePorts, type HeldPort, type LocalListener, type PlannedListeners } from './held-ports.ts';
import { listenerFields } from './listener-fields.ts';
import { atServices } from './service-listeners.ts';
import { servicePorts } from './service-ports.ts';
import { isNetworkAlias, networkOf, type PartNetworks } from '../networks.ts';
import { SETTING, settingOf } from '../settings.ts';
import { quoted } from '../../text/printable.ts';
import { isHost } from '../../text/names.ts';

/** Listeners with their container networks. */
export interface PlacedListeners extends PlannedListeners {
  readonly networks: PartNetworks;
}

export function planListeners(resources: SiteResources, site: Site, material: Material, before: readonly HeldPort[]): PlacedListeners {
  const drafts = [...resources.Listener, ...resources.MultiKeyListener].map((listener) => draft(listener, site, material));
  const desired = drafts.flatMap(({ config, problems }) => (config === undefined || hasErrors(problems) ? [] : [config]));
  const planned = material.capabilities.has('services')
    ? atServices(desired, servicePorts(resources, material.services ?? { services: [], podKeys: [] }))
    : atAddresses(sharePorts(desired, before));
  // Names of planned listeners are keys of their resources.
  const networks = new Map(
    desired.flatMap(({ name, network }) => (network === undefined ? [] : [[name as ResourceKey, network] as const])),
  );
  return { ...planned, problems: [...drafts.flatMap((each) => each.problems), ...planned.problems], networks };
}

/** In a container network a host is a name of the router, whose addresses change. So it listens on all of them. */
function atAddresses({ configs, ...planned }: PlannedListeners<LocalListener>): PlannedListeners {
  return { ...planned, configs: configs.map(({ network, host, ...config }) => (network === undefined ? { ...config, host } : config)) };
}

interface Draft {
  readonly config?: LocalListener;
  readonly problems: readonly ResourceProblem[];
}

function draft(listener: Listener | MultiKeyListener, site: Site, material: Material): Draft {
  const { host, port, requireClientCert } = listener.spec;
  const { destination, problems } = listenerFields(listener);
  const { network, problems: ofNetwork } = networkOf(listener, site, material.capabilities);
  const observer = observerOf(listener);
  const paths = settingOf(listener, SETTING.requestPaths) === 'true' ? ({ requestPaths: true } as const) : {};
  const { bundle, problems: ofTls } = tlsOf(listener, requireClientCert === true, material);
  const ofClients = requireClientCert === true ? clientCertProblems(listener, bundle) : [];
  const tls = bundle === undefined ? {} : { tls: bundle };
  const at = network === undefined ? {} : { network };
  return {
    ...(destination === undefined ? {} : { config: { name: keyOf(listener), host, port, destination, observer, ...paths, ...tls, ...at } }),
    problems: [...problems, ...platformProblems(listener, network, material.capabilities), ...ofNetwork, ...ofTls, ...ofClients],
  };
}

function platformProblems(
  listener: Listener | MultiKeyListener,
  network: string | undefined,
  capabilities: Capabilities,
): readonly ResourceProblem[] {
  const resource = keyOf(listener);
  const { host } = listener.spec;
  const problems: ResourceProblem[] = [];
  // The plan of Services checks the names of Services.
  if (!capabilities.has('services') && !isHost(host)) {
    const message = `${notAHost(host)}. Use an address of this machine, such as 127.0.0.1, or 0.0.0.0 for all.`;
    problems.push(errorIn(resource, 'spec.host', 'host', message));
  } else if (network !== undefined && !isWildcard(host) && !isNetworkAlias(host)) {
    const message = `${quoted(host)} cannot be a name of the router in the network ${network}; use a name such as backend, or 0.0.0.0.`;
    problems.push(errorIn(resource, 'spec.host', 'host', message));
  }
  if (!capabilities.has('pods') && listener.kind === 'Listener' && listener.spec.exposePodsByName === true) {
    const message = 'pods can be exposed by name only on Kubernetes; the listener itself works. Remove the field.';
    problems.push(warningIn(resource, 'spec.exposePodsByName', 'not-on-platform', message));
  }
  return problems;
}

function clientCertProblems(listener: Listener | MultiKeyListener, bundle: TlsBundle | undefined): readonly ResourceProblem[] {
  const { tlsCredentials } = listener.spec;
  const wrong = (code: ResourceProblem['code'], message: string) => [errorIn(keyOf(listener), 'spec.requireClientCert', code, message)];
  if (!isGiven(tlsCredentials))
    return wrong('tls-missing', 'clients can present a certificate only over TLS; name a bundle in spec.tlsCredentials.');
  if (bundle === undefined || bundle.ca !== undefined) return [];
  return wrong('tls-no-ca', `the bundle ${quoted(tlsCredentials)} has no ca.crt to verify clients by; add it.`);
}

const observers: ReadonlySet<string> = new Set(['auto', 'none', 'http1', 'http2'] satisfies Observer[]);

/** The field takes precedence over the setting. */
function observerOf(listener: Listener | MultiKeyListener): Observer {
  const setting = settingOf(listener, SETTING.observer);
  return listener.spec.observer ?? (setting !== undefined && isObserver(setting) ? setting : 'auto');
}

function isObserver(text: string): text is Observer {
  return observers.has(text);
}

function tlsOf(listener: Listener | MultiKeyListener, verifiesClients: boolean, material: Material): FoundBundle {
  const { tlsCredentials } = listener.spec;
  if (!isGiven(tlsCredentials)) return { problems: [] };
  const found = findBundle(material, tlsCredentials, 'server', keyOf(listener));
  if (found.bundle === undefined || verifiesClients) return found;
  const { ca: _, ...withoutClients } = found.bundle;
  return { ...found, bundle: withoutClients };
}
