/** Names for shell completion. Any error yields an empty list. */
import { readdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import type { SkupperKind } from '../../api/skupper/index.ts';
import { kubeconfigFiles, readKubeconfig } from '../../kube/client/kubeconfig-files.ts';
import type { KubeObject } from '../../kube/objects.ts';
import { resource, secrets, type Resource } from '../../kube/resource.ts';
import { layoutOf } from '../../platform/linux/layout.ts';
import { isResourceName } from '../../text/names.ts';
import { kindNamed, kindWords } from '../actions/kind-names.ts';
import { namesOf } from '../actions/resource-actions.ts';
import { namespacesHere } from '../own-namespace.ts';
import { isMachine, machineNamespace, type PlaceWords } from '../place.ts';
import { openCluster, openResources, platformFor } from '../resources.ts';

export async function resourceNames(kind: SkupperKind, words: PlaceWords): Promise<readonly string[]> {
  return orNone(async () => (await namesOf(await openResources(words), kind)).filter(isResourceName));
}

export { kindWords };

/** The singular name of each kind that can be explained, once each. */
export async function explainableWords(): Promise<readonly string[]> {
  const { explainableKinds } = await import('../../explain/gather/explainable-kinds.ts');
  return [...new Set(explainableKinds.flatMap(({ words: [word = ''] }) => word))];
}

/** @param kind kind as typed by the user */
export async function namesOfKind(kind: string, words: PlaceWords): Promise<readonly string[]> {
  return orNone(async () => resourceNames(kindNamed(kind), words));
}

/** Namespaces of this machine and of the selected cluster. */
export async function namespaceNames(words: PlaceWords): Promise<readonly string[]> {
  return [...(await namespacesHere()), ...(await namesInCluster(words, namespaces, 'cluster', () => true))];
}

export async function bundleNames(words: PlaceWords): Promise<readonly string[]> {
  const { input, internal } = layoutOf(machineNamespace(words, process.env));
  const here = (await Promise.all([input.certs, internal.certs].map((folder) => namesIn(folder, isResourceName)))).flat();
  return [...here, ...(await namesInCluster(words, secrets, 'namespace', ({ type }) => type === 'kubernetes.io/tls'))];
}

export async function contextNames({ kubeconfig }: PlaceWords): Promise<readonly string[]> {
  return orNone(async () => {
    const files = kubeconfig === undefined ? kubeconfigFiles(process.env, homedir()) : [kubeconfig];
    return [...(await readKubeconfig(files)).contexts.keys()].filter((name) => PLAIN.test(name));
  });
}

/** Names that need no quoting in a shell. */
const PLAIN = /^[\w.:@/-]{1,200}$/;
const namespaces = resource('v1', 'Namespace', 'namespaces', 'cluster');
/** Timeout in milliseconds: the user waits for the completion after pressing a key. */
const PATIENCE = 2_000;

async function namesInCluster<T extends KubeObject>(
  words: PlaceWords,
  of: Resource<T>,
  scope: 'namespace' | 'cluster',
  isMeant: (object: T) => boolean,
): Promise<readonly string[]> {
  return orNone(async () => {
    if (isMachine((await platformFor(words)).platform)) return [];
    const { client, place } = await openCluster(words, PATIENCE);
    const { items } = await client.page(of, scope === 'cluster' ? {} : { namespace: place.namespace });
    return items.filter(isMeant).flatMap(({ metadata: { name } }) => (name !== undefined && isResourceName(name) ? [name] : []));
  });
}

async function orNone(find: () => Promise<readonly string[]>): Promise<readonly string[]> {
  try {
    return await find();
  } catch {
    return [];
  }
}

async function namesIn(folder: string, isName: (name: string) => boolean): Promise<readonly string[]> {
  return (await readdir(folder).catch(() => [])).filter(isName);
}
