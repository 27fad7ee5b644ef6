/** How a site's routers learn the servers of AttachedConnectors: the controller writes EndpointSlices in the site's namespace. */
import { annotation } from '../api/skupper/cluster-names.ts';
import { isRecord } from '../text/is-record.ts';
import { isHost, isResourceName } from '../text/names.ts';
import type { AttachedServers } from './material.ts';

/** Fields of an EndpointSlice that are read. */
export interface AttachedSlice {
  readonly metadata: {
    readonly name?: string;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly ownerReferences?: readonly { readonly uid: string }[];
  };
  readonly endpoints?: readonly { readonly addresses?: readonly string[]; readonly targetRef?: { readonly name?: string } }[];
}

/** Value of the annotation: the AttachedConnector, and how to connect to its servers. */
export type SliceNote = Omit<AttachedServers, 'pods'>;

export function writeNote({ name, namespace, port, tlsCredentials, useClientCert }: SliceNote): string {
  return JSON.stringify({ name, namespace, port, ...(tlsCredentials === undefined ? {} : { tlsCredentials }), useClientCert });
}

/**
 * Merges the slices of each AttachedConnector. Slices without this owner are not from the site's controller. If the notes of one
 * AttachedConnector differ, an update is under way, and the first slice by name wins.
 * @param site UID of the Site
 */
export function attachedServersIn(slices: readonly AttachedSlice[], site: string): readonly AttachedServers[] {
  const found = slices
    .filter(({ metadata }) => metadata.ownerReferences?.some(({ uid }) => uid === site) === true)
    .toSorted((one, other) => ((one.metadata.name ?? '') < (other.metadata.name ?? '') ? -1 : 1))
    .flatMap((slice) => {
      const note = readNote(slice.metadata.annotations?.[annotation.attached]);
      return note === undefined ? [] : [{ note, pods: podsIn(slice) }];
    });
  return [...Map.groupBy(found, ({ note }) => note.name).values()].flatMap((all) => {
    const [first] = all;
    if (first === undefined) return [];
    const text = writeNote(first.note);
    const pods = all.filter(({ note }) => writeNote(note) === text).flatMap((each) => each.pods);
    return [{ ...first.note, pods }];
  });
}

function podsIn({ endpoints = [] }: AttachedSlice): AttachedServers['pods'] {
  return endpoints.flatMap(({ addresses: [ip] = [], targetRef }) =>
    isHost(ip) && targetRef?.name !== undefined && isResourceName(targetRef.name) ? [{ name: targetRef.name, ip }] : [],
  );
}

function readNote(text: string | undefined): SliceNote | undefined {
  const { name, namespace, port, tlsCredentials, useClientCert } = recordIn(text);
  if (typeof name !== 'string' || typeof namespace !== 'string' || typeof port !== 'number') return undefined;
  if (!Number.isInteger(port) || port < 1 || port > 65_535) return undefined;
  return {
    name,
    namespace,
    port,
    ...(typeof tlsCredentials === 'string' ? { tlsCredentials } : {}),
    useClientCert: useClientCert === true,
  };
}

function recordIn(text: string | undefined): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text ?? '{}');
    return isRecord(value) ? value : {};
  } catch {
    return {};
  }
}
