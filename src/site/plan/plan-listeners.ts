import type { Listener, MultiKeyListener } from '../../api/skupper/index.ts';
import type { Destination, ListenerConfig, Observer, TlsBundle } from '../../router/contract.ts';
import { quote, type BundleFinder } from '../bundle-finder.ts';
import { notOnPlatform, type Capabilities } from '../capabilities.ts';
import { hasErrors, type ResourceProblem } from '../problem.ts';
import { keyOf, type ResourceKey, type SiteResources } from '../resources.ts';
import { badKey, badPort, badType, isGiven, isHost } from './fields.ts';
import { sharePorts, type HeldPort } from './held-ports.ts';

export function planListeners(
  resources: SiteResources,
  capabilities: Capabilities,
  bundles: BundleFinder,
  before: readonly HeldPort[],
): { readonly configs: readonly ListenerConfig[]; readonly held: readonly HeldPort[]; readonly problems: readonly ResourceProblem[] } {
  const drafts = [
    ...resources.Listener.map((listener) => draftListener(listener, capabilities, bundles)),
    ...resources.MultiKeyListener.map((listener) => draftMultiKey(listener, bundles)),
  ];
  const wanted = drafts.flatMap(({ config, problems }) => (config === undefined || hasErrors(problems) ? [] : [config]));
  const { configs, held, problems } = sharePorts(wanted, before);
  return { configs, held, problems: [...drafts.flatMap((draft) => draft.problems), ...problems] };
}

interface Draft {
  readonly config?: ListenerConfig;
  readonly problems: readonly ResourceProblem[];
}

function draftListener(listener: Listener, capabilities: Capabilities, bundles: BundleFinder): Draft {
  const resource = keyOf(listener);
  const { routingKey, host, port, tlsCredentials, type, exposePodsByName } = listener.spec;
  const problems = [...badKey(resource, 'spec.routingKey', routingKey), ...commonProblems(resource, host, port, type)];
  if (exposePodsByName === true && !capabilities.has('pods')) {
    const message = 'pods can be exposed by name on Kubernetes only; the listener itself works. Remove the field.';
    problems.push(notOnPlatform(resource, 'spec.exposePodsByName', message));
  }
  const observed = observerOf(listener.spec.observer, listener.spec.settings, resource);
  const tls = tlsOf(tlsCredentials, true, resource, bundles);
  return {
    config: {
      name: resource,
      host,
      port,
      destination: { kind: 'key', routingKey },
      observer: observed.observer,
      ...(tls.bundle === undefined ? {} : { tls: tls.bundle }),
    },
    problems: [...problems, ...observed.problems, ...tls.problems],
  };
}

function draftMultiKey(listener: MultiKeyListener, bundles: BundleFinder): Draft {
  const resource = keyOf(listener);
  const { host, port, tlsCredentials, requireClientCert } = listener.spec;
  const { destination, problems } = destinationOf(listener, resource);
  const observed = observerOf(listener.spec.observer, listener.spec.settings, resource);
  const tls = tlsOf(tlsCredentials, requireClientCert === true, resource, bundles);
  const needsCa = requireClientCert === true && tls.bundle !== undefined && tls.bundle.ca === undefined;
  const missing = (code: ResourceProblem['code'], message: string): ResourceProblem => ({
    resource,
    severity: 'error',
    code,
    field: 'spec.requireClientCert',
    message,
  });
  return {
    ...(destination === undefined
      ? {}
      : {
          config: {
            name: resource,
            host,
            port,
            destination,
            observer: observed.observer,
            ...(tls.bundle === undefined ? {} : { tls: tls.bundle }),
          },
        }),
    problems: [
      ...problems,
      ...commonProblems(resource, host, port),
      ...observed.problems,
      ...tls.problems,
      ...(needsCa ? [missing('tls-no-ca', `the bundle ${quote(tlsCredentials ?? '')} has no ca.crt to verify clients by; add it.`)] : []),
      ...(requireClientCert === true && !isGiven(tlsCredentials)
        ? [missing('tls-missing', 'clients can show a certificate only over TLS; name a bundle in spec.tlsCredentials.')]
        : []),
    ],
  };
}

function destinationOf(
  listener: MultiKeyListener,
  resource: ResourceKey,
): { readonly destination?: Destination; readonly problems: readonly ResourceProblem[] } {
  const { priority, weighted } = listener.spec.strategy;
  const wrong = (field: string, message: string): { readonly problems: readonly ResourceProblem[] } => ({
    problems: [{ resource, severity: 'error', code: 'strategy', field, message }],
  });
  if ((priority === undefined) === (weighted === undefined)) {
    return wrong('spec.strategy', 'exactly one of priority and weighted must be there.');
  }
  if (priority !== undefined) {
    const routingKeys = [...new Set(priority.routingKeys)];
    if (routingKeys.length === 0) return wrong('spec.strategy.priority.routingKeys', 'it is empty; name at least one routing key.');
    const problems = routingKeys.flatMap((key) => badKey(resource, 'spec.strategy.priority.routingKeys', key));
    return { destination: { kind: 'priority', routingKeys }, problems };
  }
  const entries = Object.entries(weighted?.routingKeys ?? {});
  if (entries.length === 0) return wrong('spec.strategy.weighted.routingKeys', 'it is empty; name at least one routing key.');
  const negative = entries.find(([, weight]) => !(Number.isInteger(weight) && weight >= 0));
  if (negative !== undefined) {
    return wrong(
      'spec.strategy.weighted.routingKeys',
      `the weight of ${quote(negative[0])} is ${negative[1]}; give a whole number from 0.`,
    );
  }
  const problems = entries.flatMap(([key]) => badKey(resource, 'spec.strategy.weighted.routingKeys', key));
  return { destination: { kind: 'weighted', routingKeys: Object.fromEntries(entries) }, problems };
}

function commonProblems(resource: ResourceKey, host: string, port: number, type?: string): ResourceProblem[] {
  const problems = [...badPort(resource, 'spec.port', port)];
  if (!isHost(host)) {
    const message = `${quote(host)} is neither a host name nor an address; use one of this machine, such as 127.0.0.1, or 0.0.0.0 for all.`;
    problems.push({ resource, severity: 'error', code: 'host', field: 'spec.host', message });
  }
  return [...problems, ...badType(resource, type)];
}

const observers: ReadonlySet<string> = new Set(['auto', 'none', 'http1', 'http2'] satisfies Observer[]);

function observerOf(
  field: Observer | undefined,
  settings: Readonly<Record<string, string>> | undefined | null,
  resource: ResourceKey,
): { readonly observer: Observer; readonly problems: readonly ResourceProblem[] } {
  const setting = settings != null && Object.hasOwn(settings, 'observer') ? settings['observer'] : undefined;
  const chosen = field ?? setting ?? 'auto';
  if (isObserver(chosen)) return { observer: chosen, problems: [] };
  const message = `${quote(chosen)} is no observer; use auto, none, http1 or http2. Until then it is auto.`;
  return { observer: 'auto', problems: [{ resource, severity: 'warning', code: 'observer', field: 'spec.settings.observer', message }] };
}

function isObserver(text: string): text is Observer {
  return observers.has(text);
}

function tlsOf(
  name: string | undefined,
  verifiesClients: boolean,
  resource: ResourceKey,
  bundles: BundleFinder,
): { readonly bundle?: TlsBundle; readonly problems: readonly ResourceProblem[] } {
  if (!isGiven(name)) return { problems: [] };
  const { bundle, problems } = bundles.find(name, 'server', resource);
  if (bundle === undefined || verifiesClients) return bundle === undefined ? { problems } : { bundle, problems };
  const { ca: _, ...withoutClients } = bundle;
  return { bundle: withoutClients, problems };
}
