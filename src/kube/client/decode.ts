import type { Page, WatchEvent } from '../contract.ts';
import { TransportError } from '../errors.ts';
import type { KubeObject } from '../objects.ts';
import { apiVersionOf } from '../resource.ts';
import type { Resource } from '../resource.ts';
import { isRecord } from '../../text/is-record.ts';
import { apiErrorOfEvent } from './status.ts';
import { quoted } from '../../text/printable.ts';

/**
 * Decodes JSON to objects. It checks only what this module relies on: an object has metadata with a name that is safe in a key, a
 * list has items. The API server's schema guarantees the rest.
 */

/**
 * Decodes the response of a call to one object. Reviews are objects without name or resourceVersion.
 * @throws TransportError kube-malformed
 */
export function decodeObject<T extends KubeObject>(call: string, body: Buffer): T {
  const object = parse(call, body.toString('utf8'));
  const metadata = isRecord(object) ? object['metadata'] : undefined;
  if (!isRecord(metadata)) throw malformed(call, 'the response is not an object with metadata');
  if (metadata['name'] !== undefined && !isKeyPart(metadata['name'])) throw malformed(call, 'the object has no usable metadata.name');
  // The server guarantees the rest of T, see above.
  return object as T;
}

/** Plurals in an APIResourceList. */
export function decodeKinds(call: string, body: Buffer): readonly string[] {
  const list = parse(call, body.toString('utf8'));
  const kinds = isRecord(list) ? list['resources'] : undefined;
  if (!Array.isArray(kinds)) throw malformed(call, 'the response is not a list of kinds');
  return kinds.flatMap((kind: unknown) => (isRecord(kind) && typeof kind['name'] === 'string' ? [kind['name']] : []));
}

/** Decodes a list page. Items of built-in lists lack apiVersion and kind, unlike watched objects, so both are added. */
export function decodePage<T extends KubeObject>(call: string, of: Resource<T>, body: Buffer): Page<T> {
  const list = parse(call, body.toString('utf8'));
  const metadata = isRecord(list) ? list['metadata'] : undefined;
  const items = isRecord(list) ? (list['items'] ?? []) : undefined;
  if (!isRecord(metadata) || !Array.isArray(items)) throw malformed(call, 'the response is not a list');
  const resourceVersion = metadata['resourceVersion'];
  const token = metadata['continue'];
  if (typeof resourceVersion !== 'string') throw malformed(call, 'the list has no resourceVersion');
  const apiVersion = apiVersionOf(of);
  for (const item of items) {
    checked(call, item);
    item.apiVersion ??= apiVersion;
    item.kind ??= of.kind;
  }
  return { items, resourceVersion, ...(typeof token === 'string' && token !== '' ? { continue: token } : {}) };
}

/** @throws ApiError for an ERROR event, TransportError for anything that is not an event */
export function decodeEvent<T extends KubeObject>(call: string, line: string): WatchEvent<T> {
  const event = parse(call, line);
  if (!isRecord(event)) throw malformed(call, 'a line of the watch is not an event');
  const { type, object } = event;
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      return { type, object: checked<T>(call, object) };
    case 'BOOKMARK':
      return bookmark(call, object);
    case 'ERROR':
      throw apiErrorOfEvent(call, object);
    default:
      throw malformed(call, `a watch event of the unknown type ${JSON.stringify(type)?.slice(0, 64)}`);
  }
}

function bookmark(call: string, object: unknown): WatchEvent<never> {
  const metadata = isRecord(object) ? object['metadata'] : undefined;
  const resourceVersion = isRecord(metadata) ? metadata['resourceVersion'] : undefined;
  if (typeof resourceVersion !== 'string' || resourceVersion === '') throw malformed(call, 'a bookmark has no resourceVersion');
  const annotations = isRecord(metadata) ? metadata['annotations'] : undefined;
  const end = isRecord(annotations) && annotations['k8s.io/initial-events-end'] === 'true';
  return { type: 'BOOKMARK', resourceVersion, initialEventsEnd: end };
}

/** Checks an object of a list or watch, which needs a key and a resourceVersion. */
function checked<T extends KubeObject>(call: string, value: unknown): T {
  const metadata = isRecord(value) ? value['metadata'] : undefined;
  if (!isRecord(metadata)) throw malformed(call, 'an object has no metadata');
  const { name, namespace, resourceVersion } = metadata;
  if (!isKeyPart(name)) throw malformed(call, 'an object has no usable metadata.name');
  if (namespace !== undefined && !isKeyPart(namespace)) throw malformed(call, `${name} has no usable metadata.namespace`);
  if (typeof resourceVersion !== 'string' || resourceVersion === '') throw malformed(call, `${name} has no metadata.resourceVersion`);
  // The server guarantees the rest of T, see above.
  return value as T;
}

function isKeyPart(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && !value.includes('/');
}

function parse(call: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw malformed(call, `not JSON, but ${quoted(text)}`, cause);
  }
}

function malformed(call: string, what: string, cause?: unknown): TransportError {
  return new TransportError('kube-malformed', `${call}: ${what}.`, { sent: true, answered: true, cause });
}
