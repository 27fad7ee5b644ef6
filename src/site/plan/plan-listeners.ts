import type { Listener, MultiKeyListener } from '../../api/skupper/index.ts';
import type { Destination, ListenerConfig, Observer, TlsBundle } from '../../router/contract.ts';
import { findBundle, type FoundBundle } from '../find-bundle.ts';
import type { Material } from '../material.ts';
import { errorIn, hasErrors, warningIn, type ResourceProblem } from '../problem.ts';
import { keyOf, type SiteResources } from '../resources.ts';
import { badKey, badPort, badType, isGiven } from './fields.ts';
import { sharePorts, type HeldPort, type PlannedListeners } from './held-ports.ts';
import { quoted } from '../../text/printable.ts';
import { isHost } from '../../text/names.ts';

export function planListeners(resources: SiteResources, material: Material, before: readonly HeldPort[]): PlannedListeners {
  const drafts = [
    ...resources.Listener.map((listener) => draftListener(listener, material)),
    ...resources.MultiKeyListener.map((listener) => draftMultiKey(listener, material)),
  ];
  const wanted = drafts.flatMap(({ config, problems }) => (config === undefined || hasErrors(problems) ? [] : [config]));
  const { configs, held, problems } = sharePorts(wanted, before);
  return { configs, held, problems: [...drafts.flatMap((each) => each.problems), ...problems] };
}

interface Draft {
  readonly config?: ListenerConfig;
  readonly problems: readonly ResourceProblem[];
}

function draftListener(listener: Listener, material: Material): Draft {
  const resource = keyOf(listener);
  const { routingKey, type, exposePodsByName } = listener.spec;
  const problems = [...badKey(resource, 'spec.routingKey', routingKey), ...addressProblems(listener), ...badType(resource, type)];
  if (exposePodsByName === true && !material.capabilities.has('pods')) {
    const message = 'pods can be exposed by name on Kubernetes only; the listener itself works. Remove the field.';
    problems.push(warningIn(resource, 'spec.exposePodsByName', 'not-on-platform', message));
  }
  return draft(listener, { destination: { kind: 'key', routingKey }, problems }, material.defaults.requireClientCert, material);
}

function draftMultiKey(listener: MultiKeyListener, material: Material): Draft {
  const { destination, problems } = destinationOf(listener);
  const chosen = { ...(destination === undefined ? {} : { destination }), problems: [...problems, ...addressProblems(listener)] };
  return draft(listener, chosen, false, material);
}

interface Chosen {
  readonly destination?: Destination;
  readonly problems: readonly ResourceProblem[];
}

/** @param usually whether clients are asked for certificates where the listener does not say it, and its bundle can verify them */
function draft(listener: Listener | MultiKeyListener, chosen: Chosen, usually: boolean, material: Material): Draft {
  const { host, port, requireClientCert } = listener.spec;
  const { destination } = chosen;
  const { observer, problems: ofObserver } = observerOf(listener);
  const { bundle, problems: ofTls } = tlsOf(listener, requireClientCert ?? usually, material);
  const ofClients = requireClientCert === true ? clientCertProblems(listener, bundle) : [];
  const tls = bundle === undefined ? {} : { tls: bundle };
  return {
    ...(destination === undefined ? {} : { config: { name: keyOf(listener), host, port, destination, observer, ...tls } }),
    problems: [...chosen.problems, ...ofObserver, ...ofTls, ...ofClients],
  };
}

function clientCertProblems(listener: Listener | MultiKeyListener, bundle: TlsBundle | undefined): readonly ResourceProblem[] {
  const { tlsCredentials } = listener.spec;
  const wrong = (code: ResourceProblem['code'], message: string) => [errorIn(keyOf(listener), 'spec.requireClientCert', code, message)];
  if (!isGiven(tlsCredentials))
    return wrong('tls-missing', 'clients can show a certificate only over TLS; name a bundle in spec.tlsCredentials.');
  if (bundle === undefined || bundle.ca !== undefined) return [];
  return wrong('tls-no-ca', `the bundle ${quoted(tlsCredentials)} has no ca.crt to verify clients by; add it.`);
}

function destinationOf(listener: MultiKeyListener): Chosen {
  const resource = keyOf(listener);
  const { priority, weighted } = listener.spec.strategy;
  const wrong = (field: string, message: string): Chosen => ({ problems: [errorIn(resource, field, 'strategy', message)] });
  if ((priority === undefined) === (weighted === undefined)) {
    return wrong('spec.strategy', 'exactly one of priority and weighted must be there.');
  }
  const field = `spec.strategy.${priority === undefined ? 'weighted' : 'priority'}.routingKeys`;
  const weights = Object.entries(weighted?.routingKeys ?? {});
  const routingKeys = [...new Set(priority?.routingKeys ?? weights.map(([key]) => key))];
  if (routingKeys.length === 0) return wrong(field, 'it is empty; name at least one routing key.');
  const negative = weights.find(([, weight]) => !(Number.isInteger(weight) && weight >= 0));
  if (negative !== undefined) return wrong(field, `the weight of ${quoted(negative[0])} is ${negative[1]}; give a whole number from 0.`);
  return {
    destination:
      priority === undefined ? { kind: 'weighted', routingKeys: Object.fromEntries(weights) } : { kind: 'priority', routingKeys },
    problems: routingKeys.flatMap((key) => badKey(resource, field, key)),
  };
}

function addressProblems(listener: Listener | MultiKeyListener): readonly ResourceProblem[] {
  const resource = keyOf(listener);
  const { host, port } = listener.spec;
  const problems = badPort(resource, 'spec.port', port);
  if (isHost(host)) return problems;
  const message = `${quoted(host)} is neither a host name nor an address; use one of this machine, such as 127.0.0.1, or 0.0.0.0 for all.`;
  return [...problems, errorIn(resource, 'spec.host', 'host', message)];
}

const observers: ReadonlySet<string> = new Set(['auto', 'none', 'http1', 'http2'] satisfies Observer[]);

function observerOf(listener: Listener | MultiKeyListener): { readonly observer: Observer; readonly problems: readonly ResourceProblem[] } {
  const { observer, settings } = listener.spec;
  const setting = settings != null && Object.hasOwn(settings, 'observer') ? settings['observer'] : undefined;
  const chosen = observer ?? setting ?? 'auto';
  if (isObserver(chosen)) return { observer: chosen, problems: [] };
  const message = `${quoted(chosen)} is no observer; use auto, none, http1 or http2. Until then it is auto.`;
  return { observer: 'auto', problems: [warningIn(keyOf(listener), 'spec.settings.observer', 'observer', message)] };
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
