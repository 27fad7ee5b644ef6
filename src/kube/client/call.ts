import type {
  DeleteOptions,
  Key,
  LogOptions,
  PageOptions,
  PatchOptions,
  PodRequest,
  Selection,
  WatchOptions,
  WriteOptions,
} from '../contract.ts';
import type { Exchange } from './exchange.ts';
import type { KubeObject } from '../objects.ts';
import { keyString } from '../key.ts';
import { collectionPath, groupPath, objectPath, selectionQuery, withQuery, type Query } from './path.ts';
import { apiVersionOf, pods } from '../resource.ts';
import type { Resource } from '../resource.ts';
import type { Verb } from './retry.ts';

/** An API call before it is sent. */
export interface Call {
  readonly verb: Verb;
  /** Name in messages: `patch Listener default/web (status)`. */
  readonly name: string;
  /** Resource in metrics: `listeners/status`. */
  readonly resource: string;
  readonly method: Exchange['method'];
  readonly path: string;
  readonly contentType?: string;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
  /** Whether a pod answers: an error that is not a Status is then the pod's own response. */
  readonly isProxied?: true;
  /** Whether the connection becomes a WebSocket. */
  readonly isWebSocket?: true;
}

/** Default number of objects in a list page. */
const PAGE_SIZE = 500;

export function getCall(of: Resource, key: Key, options: { readonly signal?: AbortSignal }): Call {
  return { ...objectCall('get', of, key), method: 'GET', path: objectPath(of, key), signal: options.signal };
}

export function kindsCall(of: Resource, options: { readonly signal?: AbortSignal }): Call {
  return {
    verb: 'list',
    name: `list kinds of ${apiVersionOf(of)}`,
    resource: 'kinds',
    method: 'GET',
    path: groupPath(of),
    signal: options.signal,
  };
}

export function pageCall(of: Resource, selection: Selection, options: PageOptions): Call {
  const query = { ...selectionQuery(selection), limit: options.limit ?? PAGE_SIZE, continue: options.continue };
  return {
    ...collectionCall('list', of, selection),
    method: 'GET',
    path: withQuery(collectionPath(of, selection.namespace), query),
    signal: options.signal,
  };
}

export function watchCall(of: Resource, options: Omit<WatchOptions<KubeObject>, 'onEvent'>): Call {
  const query = {
    ...selectionQuery(options),
    watch: true,
    allowWatchBookmarks: true,
    timeoutSeconds: options.timeoutSeconds,
    ...('after' in options.from
      ? { resourceVersion: options.from.after }
      : { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' }),
  };
  return {
    ...collectionCall('watch', of, options),
    method: 'GET',
    path: withQuery(collectionPath(of, options.namespace), query),
    signal: options.signal,
  };
}

export function createCall(of: Resource, object: KubeObject, fieldManager: string, options: WriteOptions): Call {
  const { namespace, name, generateName = '' } = object.metadata;
  const key = { name: name ?? `${generateName}*`, ...(namespace === undefined ? {} : { namespace }) };
  return {
    ...objectCall('create', of, key),
    method: 'POST',
    path: withQuery(collectionPath(of, namespace), writeQuery(fieldManager, options)),
    contentType: 'application/json',
    body: typed(of, object),
    signal: options.signal,
  };
}

export function applyCall(of: Resource, object: KubeObject, fieldManager: string, options: WriteOptions): Call {
  const { namespace, name = '' } = object.metadata;
  const key = { name, ...(namespace === undefined ? {} : { namespace }) };
  const query = { ...writeQuery(fieldManager, options), force: true };
  return {
    ...objectCall('apply', of, key, options.subresource),
    method: 'PATCH',
    path: withQuery(objectPath(of, key, options.subresource), query),
    // The body is JSON, which is valid YAML. The API server knows only this content type for apply patches.
    contentType: 'application/apply-patch+yaml',
    body: typed(of, object),
    signal: options.signal,
  };
}

export function patchCall(of: Resource, key: Key, patch: unknown, fieldManager: string, options: PatchOptions): Call {
  return {
    ...objectCall('patch', of, key, options.subresource),
    method: 'PATCH',
    path: withQuery(objectPath(of, key, options.subresource), writeQuery(fieldManager, options)),
    contentType: PATCH_TYPES[options.type],
    body: patch,
    signal: options.signal,
  };
}

export function deleteCall(of: Resource, key: Key, options: DeleteOptions): Call {
  return {
    ...objectCall('delete', of, key),
    method: 'DELETE',
    path: objectPath(of, key),
    contentType: 'application/json',
    // JSON.stringify omits undefined values.
    body: { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid: options.uid } },
    signal: options.signal,
  };
}

export function logCall(key: Key, { container, lines, previous, signal }: LogOptions, follow?: true): Call {
  return {
    ...objectCall('get', pods, key, 'log'),
    method: 'GET',
    path: withQuery(objectPath(pods, key, 'log'), { container, tailLines: lines, previous, follow }),
    signal,
  };
}

/** A request that the API server forwards to a pod, without the caller's credentials. */
export function proxyCall(pod: Key, { port, page, signal }: PodRequest): Call {
  const server = { ...pod, name: `${pod.name}:${port}` };
  return {
    ...objectCall('get', pods, server, 'proxy'),
    method: 'GET',
    path: `${objectPath(pods, server, 'proxy')}/${page}`,
    signal,
    isProxied: true,
  };
}

/** A TCP stream that the API server forwards to a port of a pod. */
export function portCall(pod: Key, port: number, signal: AbortSignal | undefined): Call {
  return {
    ...objectCall('get', pods, pod, 'portforward'),
    method: 'GET',
    path: withQuery(objectPath(pods, pod, 'portforward'), { ports: port }),
    signal,
    isWebSocket: true,
  };
}

const PATCH_TYPES = { merge: 'application/merge-patch+json', json: 'application/json-patch+json' } as const;

function objectCall(verb: Verb, of: Resource, key: Key, subresource?: string): Pick<Call, 'verb' | 'name' | 'resource'> {
  const name = `${verb} ${of.kind} ${keyString(key)}`;
  if (subresource === undefined) return { verb, name, resource: of.plural };
  return { verb, name: `${name} (${subresource})`, resource: `${of.plural}/${subresource}` };
}

function collectionCall(verb: Verb, of: Resource, { namespace }: Selection): Pick<Call, 'verb' | 'name' | 'resource'> {
  return { verb, name: namespace === undefined ? `${verb} ${of.plural}` : `${verb} ${of.plural} in ${namespace}`, resource: of.plural };
}

function writeQuery(fieldManager: string, options: WriteOptions): Query {
  return { fieldManager: options.fieldManager ?? fieldManager, fieldValidation: options.strict === true ? 'Strict' : undefined };
}

function typed(of: Resource, object: KubeObject): KubeObject {
  return { ...object, apiVersion: apiVersionOf(of), kind: of.kind };
}
