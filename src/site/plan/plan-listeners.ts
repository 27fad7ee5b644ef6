import type { Listener, MultiKeyListener } from '../../api/skupper/index.ts';
import type { Observer, TlsBundle } from '../../router/contract.ts';
import type { Capabilities } from '../capabilities.ts';
import { findBundle, type FoundBundle } from '../find-bundle.ts';
import type { Material } from '../material.ts';
import { errorIn, hasErrors, warningIn, type ResourceProblem } from '../problem.ts';
import { keyOf, type SiteResources } from '../resources.ts';
import { isGiven, notAHost } from './fields.ts';
import { sharePorts, type HeldPort, type LocalListener, type PlannedListeners } from './held-ports.ts';
import { listenerFields } from './listener-fields.ts';
import { atServices } from './service-listeners.ts';
import { servicePorts } from './service-ports.ts';
import { SETTING, settingOf } from '../settings.ts';
import { quoted } from '../../text/printable.ts';
import { isHost } from '../../text/names.ts';

export function planListeners(resources: SiteResources, material: Material, before: readonly HeldPort[]): PlannedListeners {
  const drafts = [...resources.Listener, ...resources.MultiKeyListener].map((listener) => draft(listener, material));
  const wanted = drafts.flatMap(({ config, problems }) => (config === undefined || hasErrors(problems) ? [] : [config]));
  const { configs, held, problems } = material.capabilities.has('services')
    ? atServices(wanted, servicePorts(resources, material.services ?? { services: [], podKeys: [] }))
    : sharePorts(wanted, before);
  return { configs, held, problems: [...drafts.flatMap((each) => each.problems), ...problems] };
}

interface Draft {
  readonly config?: LocalListener;
  readonly problems: readonly ResourceProblem[];
}

function draft(listener: Listener | MultiKeyListener, material: Material): Draft {
  const { host, port, requireClientCert } = listener.spec;
  const { destination, problems } = listenerFields(listener);
  const usually = listener.kind === 'Listener' && material.defaults.requireClientCert;
  const observer = observerOf(listener);
  const { bundle, problems: ofTls } = tlsOf(listener, requireClientCert ?? usually, material);
  const ofClients = requireClientCert === true ? clientCertProblems(listener, bundle) : [];
  const tls = bundle === undefined ? {} : { tls: bundle };
  return {
    ...(destination === undefined ? {} : { config: { name: keyOf(listener), host, port, destination, observer, ...tls } }),
    problems: [...problems, ...platformProblems(listener, material.capabilities), ...ofTls, ...ofClients],
  };
}

function platformProblems(listener: Listener | MultiKeyListener, capabilities: Capabilities): readonly ResourceProblem[] {
  const resource = keyOf(listener);
  const { host } = listener.spec;
  const problems: ResourceProblem[] = [];
  // The plan of Services checks the names of Services.
  if (!capabilities.has('services') && !isHost(host)) {
    const message = `${notAHost(host)}. Use one of this machine, such as 127.0.0.1, or 0.0.0.0 for all.`;
    problems.push(errorIn(resource, 'spec.host', 'host', message));
  }
  if (!capabilities.has('pods') && listener.kind === 'Listener' && listener.spec.exposePodsByName === true) {
    const message = 'pods can be exposed by name on Kubernetes only; the listener itself works. Remove the field.';
    problems.push(warningIn(resource, 'spec.exposePodsByName', 'not-on-platform', message));
  }
  return problems;
}

function clientCertProblems(listener: Listener | MultiKeyListener, bundle: TlsBundle | undefined): readonly ResourceProblem[] {
  const { tlsCredentials } = listener.spec;
  const wrong = (code: ResourceProblem['code'], message: string) => [errorIn(keyOf(listener), 'spec.requireClientCert', code, message)];
  if (!isGiven(tlsCredentials))
    return wrong('tls-missing', 'clients can show a certificate only over TLS; name a bundle in spec.tlsCredentials.');
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
