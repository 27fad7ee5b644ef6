import { limitTable } from '../../limits/table.ts';
import type { Listener } from '../../api/skupper/index.ts';
import { warningIn, type ResourceProblem } from '../problem.ts';
import { keyOf, type ResourceKey, type SiteResources } from '../resources.ts';
import { listenerFields } from './listener-fields.ts';
import { portNameOf } from './service-names.ts';

/** Claim of a listener to a port of a Service. */
export interface ServiceClaim {
  readonly listener: ResourceKey;
  /** Routing key of a single pod; undefined if the claim is for the listener's own keys. */
  readonly podKey?: string;
  readonly service: string;
  /** Name of the Service's port. */
  readonly name: string;
  readonly port: number;
}

/** Maximum number of pods of a listener: a site that announces countless pods must not fill the namespace with Services. */
const MOST_PODS = limitTable.namedPods.value;

export interface ServiceClaims {
  /** Claims for hosts come before claims for pods. */
  readonly claims: readonly ServiceClaim[];
  readonly problems: readonly ResourceProblem[];
}

export function serviceClaims(
  { Listener, MultiKeyListener }: Pick<SiteResources, 'Listener' | 'MultiKeyListener'>,
  podKeys: readonly string[],
): ServiceClaims {
  const sound = [...Listener, ...MultiKeyListener].filter((listener) => listenerFields(listener).problems.length === 0);
  const ofHosts = sound.map((listener): ServiceClaim => {
    const { host, port } = listener.spec;
    return { listener: keyOf(listener), service: host, name: portNameOf(keyOf(listener)), port };
  });
  const exposing = sound.filter((listener) => listener.kind === 'Listener').filter(({ spec }) => spec.exposePodsByName === true);
  if (exposing.length === 0) return { claims: ofHosts, problems: [] };
  const { claims, problems } = podClaims(exposing, podKeys);
  return { claims: [...ofHosts, ...claims], problems };
}

function podClaims(listeners: readonly Listener[], podKeys: readonly string[]): ServiceClaims {
  const byKey = Map.groupBy(listeners, ({ spec }) => spec.routingKey);
  const pods = new Map<Listener, string[]>(listeners.map((listener) => [listener, []]));
  for (const podKey of [...new Set(podKeys)].sort()) {
    // Routing keys may have dots, and so may names of pods.
    for (let dot = podKey.indexOf('.'); dot >= 0; dot = podKey.indexOf('.', dot + 1)) {
      for (const listener of byKey.get(podKey.slice(0, dot)) ?? []) pods.get(listener)?.push(podKey);
    }
  }
  const claims = [...pods].flatMap(([{ metadata, kind, spec }, keys]) => {
    const listener = keyOf({ metadata, kind });
    const name = portNameOf(listener);
    const service = (podKey: string): string => podKey.slice(spec.routingKey.length + 1);
    return keys.slice(0, MOST_PODS).map((podKey): ServiceClaim => ({ listener, podKey, service: service(podKey), name, port: spec.port }));
  });
  const crowded = [...pods].filter(([, keys]) => keys.length > MOST_PODS);
  return { claims, problems: crowded.map(([listener, keys]) => tooMany(listener, keys.length)) };
}

function tooMany(listener: Listener, count: number): ResourceProblem {
  const message = `only ${MOST_PODS} of its ${count} pods can be reached by their names.`;
  return warningIn(keyOf(listener), 'spec.exposePodsByName', 'too-many-pods', message);
}
