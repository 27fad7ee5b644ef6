/** What one SecuredAccess asks for, and what becomes of it. */
import { annotation, label } from '../../api/skupper/cluster-names.ts';
import type { Endpoint, SecuredAccess } from '../../api/skupper/index.ts';
import type { ObjectMeta, StringMap } from '../../kube/objects.ts';
import { errorIn, type ResourceProblem } from '../../site/problem.ts';
import { keyOf, nameOf } from '../../site/resources.ts';
import { isHost, isHostName, isResourceName } from '../../text/names.ts';
import { quoted } from '../../text/printable.ts';
import { ownerOf, type NamespaceView } from '../namespace-view.ts';
import type { DesiredObject } from '../desired-state.ts';

export interface AccessPlanInput {
  readonly access: SecuredAccess;
  readonly view: NamespaceView;
}

export type Port = SecuredAccess['spec']['ports'][number];

/** What gives access, in one way or another. */
export interface AccessPlan {
  readonly objects: readonly DesiredObject[];
  /** Where it is reached, as far as that is known now. */
  readonly endpoints: readonly Endpoint[];
  readonly problems: readonly ResourceProblem[];
}

export function failed(access: SecuredAccess, code: ResourceProblem['code'], message: string, field = 'spec.accessType'): AccessPlan {
  return { objects: [], endpoints: [], problems: [errorIn(keyOf(access), field, code, message)] };
}

/** @param marks further annotations */
export function metadataFor(access: SecuredAccess, name: string, marks: StringMap = {}): ObjectMeta {
  return {
    name,
    labels: { [label.securedAccess]: 'true' },
    annotations: { [annotation.controlled]: 'true', ...marks },
    ownerReferences: [ownerOf(access)],
  };
}

/** The port at which what passes TLS through is reached. */
export const TLS_PORT = 443;

export function endpoint({ name }: Port, host: string, port: number | string): Endpoint {
  return { name, host, port: String(port) };
}

/** What others wrote into a status may be anything. */
export function reachable(endpoints: readonly Endpoint[]): readonly Endpoint[] {
  const told = endpoints.filter(({ host, port }) => isHost(host) && isPort(port));
  return [...new Map(told.map((each) => [JSON.stringify(each), each])).values()];
}

function isPort(text: string | undefined): boolean {
  return Number(text) >= 1 && Number(text) <= 65_535;
}

/** For each port its host, whose name always says the namespace: nobody takes that of another one. */
export function hostsOf(
  { access, view }: AccessPlanInput,
  domain: string,
  firstPart: (port: Port) => string,
): ReadonlyMap<Port, string> | { readonly refused: AccessPlan } {
  const hosts = new Map(
    access.spec.ports.map((port) => [port, [firstPart(port), view.namespace, domain].filter((part) => part !== '').join('.')]),
  );
  const bad = [...hosts.values()].find((host) => !isResourceName(host) || !isHostName(host));
  if (bad === undefined) return hosts;
  const remedy = 'use shorter names, or another domain; each part has at most 63 characters, of a-z, 0-9 and -.';
  return { refused: failed(access, 'host', `${quoted(bad, 300)} cannot be a host name; ${remedy}`, 'spec') };
}

/** Of objects that are one for each port. */
export function nameFor(access: SecuredAccess, port: Port): string {
  return `${nameOf(access)}-${port.name}`;
}
