/** Creates, patches and deletes objects for commands. A patch contains only the differences. */
import { isDeepStrictEqual } from 'node:util';
import { skupperResources } from '../../../api/skupper/index.ts';
import { networkObservers } from '../../../api/skupper/network-observer.ts';
import { isSkupperKind, validateResource } from '../../../api/skupper/validate.ts';
import { EarshotError } from '../../../errors/earshot-error.ts';
import type { KubeClient } from '../../../kube/contract.ts';
import { isNotFound } from '../../../kube/errors.ts';
import { difference } from '../../../kube/merge-patch.ts';
import type { KubeObject, StringMap } from '../../../kube/objects.ts';
import { secrets, type Resource } from '../../../kube/resource.ts';
import { isRecord } from '../../../text/is-record.ts';
import { quoted } from '../../../text/printable.ts';
import type { Manifest } from '../../resources.ts';
import type { StoredObject } from './objects.ts';

/** Returns the resource of a kind that commands write. */
export function knownResource(kind: string): Resource | undefined {
  return isSkupperKind(kind) ? skupperResources[kind] : [secrets, networkObservers].find((of) => of.kind === kind);
}

export async function writeManifest(
  client: KubeClient,
  namespace: string,
  manifest: Manifest,
): Promise<'created' | 'changed' | 'unchanged'> {
  const of = resourceOf(manifest.kind);
  const key = { namespace, name: manifest.metadata.name };
  const desired = { ...withData(manifest), metadata: { ...manifest.metadata, namespace } };
  const found = await client.find(of, key);
  if (found === undefined) {
    await client.create(of, desired as KubeObject);
    return 'created';
  }
  const patch = changeOf({ ...found, kind: manifest.kind, apiVersion: manifest.apiVersion }, desired);
  if (patch === undefined) return 'unchanged';
  await client.patch(of, key, patch, { type: 'merge' });
  return 'changed';
}

/** @returns whether the object existed */
export async function removeObject(client: KubeClient, namespace: string, kind: string, name: string): Promise<boolean> {
  try {
    await client.delete(resourceOf(kind), { namespace, name });
    return true;
  } catch (error) {
    if (isNotFound(error) && error instanceof Error && 'reason' in error && error.reason === 'NotFound') return false;
    throw error;
  }
}

/** Returns a merge patch. Labels and annotations of others are kept, and so are defaults of the API server. */
function changeOf(found: StoredObject, desired: Manifest): object | undefined {
  const { metadata } = found;
  const ownMetadata = Object.fromEntries(
    (['labels', 'annotations'] as const).flatMap((field) => {
      const changed = Object.entries(isRecord(desired.metadata[field]) ? desired.metadata[field] : {}).filter(
        ([name, value]) => metadata[field]?.[name] !== value,
      );
      return changed.length === 0 ? [] : [[field, Object.fromEntries(changed)]];
    }),
  );
  const fields = Object.fromEntries(
    ['spec', 'data'].flatMap((field) => {
      const [before, after] = [found, desired].map((object) => new Map(Object.entries(object)).get(field));
      return after === undefined || isSame(field, isSkupperKind(desired.kind), found, desired) ? [] : [[field, difference(before, after)]];
    }),
  );
  const patch = { ...(Object.keys(ownMetadata).length === 0 ? {} : { metadata: ownMetadata }), ...fields };
  return Object.keys(patch).length === 0 ? undefined : patch;
}

function isSame(field: string, isSkupper: boolean, ...objects: readonly object[]): boolean {
  const [before, after] = objects.map((object) =>
    isSkupper && field === 'spec'
      ? validateResource({ ...object, status: undefined }).resource?.spec
      : new Map(Object.entries(object)).get(field),
  );
  return before !== undefined && isDeepStrictEqual(before, after);
}

/** `stringData` is write-only: the API server returns it as `data`. */
function withData({ stringData, ...manifest }: Manifest): Manifest {
  if (!isRecord(stringData)) return manifest;
  const encoded: StringMap = Object.fromEntries(
    Object.entries(stringData).map(([key, text]) => [key, Buffer.from(String(text)).toString('base64')]),
  );
  return { ...manifest, data: { ...(isRecord(manifest['data']) ? manifest['data'] : {}), ...encoded } };
}

function resourceOf(kind: string): Resource {
  const of = knownResource(kind);
  if (of === undefined) throw new EarshotError('usage', `${quoted(kind)} is not a kind that this command supports; use kubectl.`);
  return of;
}
