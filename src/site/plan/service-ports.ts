/**
 * Assigns Services to a site's listeners, and a router port to each port of a Service. Routers and the controller compute the same result
 * from the same objects: the Services keep earlier decisions.
 */
import { isServiceName } from '../../text/names.ts';
import { quoted } from '../../text/printable.ts';
import type { NamespaceService, ServiceMaterial } from '../material.ts';
import { errorIn, warningIn, type ResourceProblem } from '../problem.ts';
import type { SiteResources } from '../resources.ts';
import { takenTwice } from './held-ports.ts';
import { RouterPorts } from './router-ports.ts';
import { routerServices } from './service-names.ts';
import { serviceClaims, type ServiceClaim } from './service-claims.ts';

export interface ServicePlan {
  readonly ports: readonly ListenerPort[];
  readonly services: readonly DesiredService[];
  readonly problems: readonly ResourceProblem[];
}

/** A port of a Service, and the router port that it targets. */
export interface ListenerPort extends ServiceClaim {
  readonly routerPort: number;
  /** Whether the Service already targets the router port, possibly from another port than the desired one. */
  readonly held: boolean;
  /** Whether the Service needs no change. */
  readonly applied: boolean;
}

export interface DesiredService {
  readonly name: string;
  /** Port name of one of its listeners. It stays the same while that listener has a port in the Service. */
  readonly label: string;
  /** Whether it was created for listeners. A user's Service was assigned to them, and stays when they are gone. */
  readonly controlled: boolean;
  readonly ports: readonly [ListenerPort, ...ListenerPort[]];
}

/** Resources that affect the Services. */
export type ServiceSources = Pick<SiteResources, 'Listener' | 'MultiKeyListener' | 'RouterAccess' | 'SecuredAccess'>;

export function servicePorts(resources: ServiceSources, material: ServiceMaterial): ServicePlan {
  const steps = planServicePorts(resources, material);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** The same in slices: each part takes some milliseconds for thousands of listeners. */
export function* planServicePorts(
  resources: ServiceSources,
  { services, podKeys }: ServiceMaterial,
): Generator<undefined, ServicePlan, undefined> {
  const known = new Map(services.map((service) => [service.name, service]));
  const problems: ResourceProblem[] = [];
  const refuse = refusals(resources, known);
  const { claims, problems: ofClaims } = serviceClaims(resources, podKeys);
  yield;
  const named = claims.filter((claim) => {
    const problem = refuse(claim);
    if (problem !== undefined) problems.push(problem);
    return problem === undefined;
  });
  yield;
  const before: PortsBefore = new Map(
    [...new Set(named.map(({ service }) => service))].flatMap((name) =>
      (known.get(name)?.ports ?? []).map((port) => [`${name}/${port.name}`, port] as const),
    ),
  );
  yield;
  const { winners, problems: ofLosers } = oneEach(named, before);
  yield;
  const ofListeners = services.filter(({ label }) => label !== undefined).flatMap((service) => service.ports);
  const { ports, problems: ofPorts } = assign(winners, before, ofListeners, new RouterPorts(resources));
  yield;
  const desired = [...Map.groupBy(ports, ({ service }) => service)].flatMap(([name, [first, ...others]]) =>
    first === undefined ? [] : [serviceOf(name, [first, ...others], known.get(name))],
  );
  return { ports, services: desired, problems: [...problems, ...ofClaims, ...ofLosers, ...ofPorts] };
}

/** Keyed by `service/port name`. */
type PortsBefore = ReadonlyMap<string, NamespaceService['ports'][number]>;

function portBefore({ service, name }: ServiceClaim, before: PortsBefore): NamespaceService['ports'][number] | undefined {
  return before.get(`${service}/${name}`);
}

/** Returns a function that says why a claim cannot have the Service of its name. */
function refusals(
  resources: ServiceSources,
  known: ReadonlyMap<string, NamespaceService>,
): (claim: ServiceClaim) => ResourceProblem | undefined {
  const { always, ofAccess } = routerServices(resources);
  return (claim) => {
    const { service } = claim;
    if (!isServiceName(service)) {
      const form = 'use lower-case letters, digits and -, 63 at most, a letter first';
      return problemOf(claim, 'host', `${quoted(service)} cannot be the name of a Service: ${form}, no dots and no address.`);
    }
    const there = known.get(service);
    const isOurs = there?.label !== undefined;
    if (always.has(service) || (ofAccess.has(service) && !isOurs)) {
      return problemOf(
        claim,
        'service-exists',
        `Service ${service} already exists in namespace: it belongs to the router; use another host.`,
      );
    }
    if (there === undefined || isOurs) return undefined;
    const remedy = there.owner === undefined ? 'delete it, or use another host' : `it belongs to ${there.owner}; use another host`;
    return problemOf(claim, 'service-exists', `Service ${service} already exists in namespace; ${remedy}.`);
  };
}

/** If several claims want the same port of a Service, its holder keeps it, else the first gets it. */
function oneEach(
  claims: readonly ServiceClaim[],
  before: PortsBefore,
): { readonly winners: readonly ServiceClaim[]; readonly problems: readonly ResourceProblem[] } {
  const owners = new Map<string, ServiceClaim>();
  const has = (claim: ServiceClaim): boolean => portBefore(claim, before)?.port === claim.port;
  for (const claim of claims) {
    const owner = owners.get(placeOf(claim));
    if (owner === undefined || (has(claim) && !has(owner))) owners.set(placeOf(claim), claim);
  }
  const winners = claims.filter((claim) => owners.get(placeOf(claim)) === claim);
  const problems = claims.flatMap((claim) => {
    const owner = owners.get(placeOf(claim));
    return owner === undefined || owner === claim ? [] : [taken(claim, owner)];
  });
  return { winners, problems };
}

function placeOf({ service, port }: ServiceClaim): string {
  return `${service}:${port}`;
}

function taken(claim: ServiceClaim, owner: ServiceClaim): ResourceProblem {
  const problem = takenTwice(claim.listener, { host: claim.service, port: claim.port }, owner.listener);
  return claim.podKey === undefined ? problem : problemOf(claim, problem.code, problem.message);
}

/** Assigns router ports to claims that had one before, then to the others. */
function assign(
  claims: readonly ServiceClaim[],
  before: PortsBefore,
  ofListeners: NamespaceService['ports'],
  free: RouterPorts,
): { readonly ports: readonly ListenerPort[]; readonly problems: readonly ResourceProblem[] } {
  const kept = new Map<ServiceClaim, number>();
  for (const claim of claims) {
    const target = portBefore(claim, before)?.targetPort;
    if (typeof target === 'number' && free.take(target)) kept.set(claim, target);
  }
  const problems: ResourceProblem[] = [];
  // Keeps the port of a Service that has no claim now: its listener may only be unreadable.
  for (const { targetPort } of ofListeners) if (typeof targetPort === 'number') free.take(targetPort);
  const ports = claims.flatMap((claim): readonly ListenerPort[] => {
    const routerPort = kept.get(claim) ?? free.takeNext();
    if (routerPort !== undefined) {
      const held = kept.has(claim);
      return [{ ...claim, routerPort, held, applied: held && portBefore(claim, before)?.port === claim.port }];
    }
    problems.push(problemOf(claim, 'no-router-port', 'all ports of the routers are in use; remove listeners, or divide them among sites.'));
    return [];
  });
  return { ports, problems };
}

function serviceOf(name: string, ports: DesiredService['ports'], there: NamespaceService | undefined): DesiredService {
  const keeps = ports.find((port) => port.name === there?.label);
  return { name, label: (keeps ?? ports[0]).name, controlled: there === undefined || there.controlled, ports };
}

/** Only a warning for a single pod: the listener works without it. */
function problemOf({ listener, podKey, service }: ServiceClaim, code: ResourceProblem['code'], message: string): ResourceProblem {
  if (podKey === undefined) return errorIn(listener, 'spec.host', code, message);
  return warningIn(listener, 'spec.exposePodsByName', code, `the pod ${quoted(service)} cannot be reached by its name: ${message}`);
}
