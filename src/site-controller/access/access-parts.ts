/** Input and result of planning one SecuredAccess, and helpers that all access types share. */
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

/** Objects, endpoints and problems of one SecuredAccess. */
export interface AccessPlan {
  readonly objects: readonly DesiredObject[];
  /** Endpoints that are known now. */
  readonly endpoints: readonly Endpoint[];
  readonly problems: readonly ResourceProblem[];
}

export function failed(access: SecuredAccess, code: ResourceProblem['code'], message: string, field = 'spec.accessType'): AccessPlan {
  return { objects: [], endpoints: [], problems: [errorIn(keyOf(access), field, code, message)] };
}

/** @param marks additional annotations */
export function metadataFor(access: SecuredAccess, name: string, marks: StringMap = {}): ObjectMeta {
  return {
    name,
    labels: { [label.securedAccess]: 'true' },
    annotations: { [annotation.controlled]: 'true', ...marks },
    ownerReferences: [ownerOf(access)],
  };
}

/** Port of every proxy that passes TLS through. */
export const TLS_PORT = 443;

export function endpoint({ name }: Port, host: string, port: number | string): Endpoint {
  return { name, host, port: String(port) };
}

/** Drops invalid and repeated endpoints: other controllers may write anything into a status. */
export function reachable(endpoints: readonly Endpoint[]): readonly Endpoint[] {
  const valid = endpoints.filter(({ host, port }) => isHost(host) && isPort(port));
  return [...new Map(valid.map((each) => [JSON.stringify(each), each])).values()];
}

function isPort(text: string | undefined): boolean {
  return Number(text) >= 1 && Number(text) <= 65_535;
}

/** Host for each port. It always contains the namespace, so no namespace can take a host of another one. */
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

/** Name of an object that exists once for each port. */
export function nameFor(access: SecuredAccess, port: Port): string {
  return `${nameOf(access)}-${port.name}`;
}
