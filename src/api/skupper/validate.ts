/**
 * Turns input of a file or a peer into a resource. As in the API server, it checks the schema of the kind, drops unknown fields
 * and fills in defaults. Input is untrusted: recursion depth is bounded by the schema, and the number of reported problems is
 * bounded.
 */
import type { ObjectMeta } from '../../kube/objects.ts';
import { apiVersionOf } from '../../kube/resource.ts';
import type { Structural } from '../crd.ts';
import { checkValue, type Report, type ResourceProblem } from './check.ts';
import type { SkupperKind, SkupperResource } from './index.ts';
import { networkObservers, type NetworkObserver } from './network-observer.ts';
import { API_VERSION } from './names.ts';
import { specShapes } from '../generated/spec-shapes.ts';
import { isRecord } from '../../text/is-record.ts';
import { didYouMean } from '../../text/nearest.ts';
import { quoted } from '../../text/printable.ts';
import { isResourceName } from '../../text/names.ts';

export type { ResourceProblem } from './check.ts';

export interface Validated {
  /** The resource without `status`; absent if a problem is an error. */
  readonly resource?: SkupperResource;
  /** Kind and name, if they can be read, even if the rest is invalid. */
  readonly identity?: { readonly kind: SkupperKind; readonly name: string };
  readonly problems: readonly ResourceProblem[];
}

/** Maximum number of listed problems; further ones are only counted. */
const MAXIMUM_PROBLEMS = 50;

/** Validates one resource of skupper.io/v2alpha1, parsed from YAML or JSON. */
export function validateResource(value: unknown): Validated {
  const { read, isWrong, problems } = collectProblems((report) => readResource(value, report));
  if (read === undefined) return { problems };
  const { resource, ...identity } = read;
  return resource === undefined || isWrong ? { identity, problems } : { resource, identity, problems };
}

/** Whether the value says that it is a NetworkObserver of a version that is known here. */
export function isNetworkObserver(value: unknown): value is Readonly<Record<string, unknown>> {
  return isRecord(value) && value['kind'] === networkObservers.kind && value['apiVersion'] === apiVersionOf(networkObservers);
}

/** Validates a NetworkObserver. Its spec may have any field. @returns no observer if a problem is an error */
export function validateObserver({ metadata, spec }: Readonly<Record<string, unknown>>): {
  readonly observer?: NetworkObserver & { readonly apiVersion: string; readonly kind: 'NetworkObserver' };
  readonly problems: readonly ResourceProblem[];
} {
  const { read, isWrong, problems } = collectProblems((report) => {
    if ((spec ?? undefined) !== undefined && !isRecord(spec)) report({ severity: 'error', path: 'spec', message: 'must be an object' });
    return readMetadata(metadata, report);
  });
  if (read === undefined || isWrong) return { problems };
  const observer = { apiVersion: apiVersionOf(networkObservers), kind: 'NetworkObserver', metadata: read } as const;
  return { observer: isRecord(spec) ? { ...observer, spec } : observer, problems };
}

function collectProblems<T>(read: (report: Report) => T): {
  readonly read: T;
  readonly isWrong: boolean;
  readonly problems: readonly ResourceProblem[];
} {
  const problems: ResourceProblem[] = [];
  let dropped = 0;
  let isWrong = false;
  const found = read((problem) => {
    isWrong ||= problem.severity === 'error';
    if (problems.length < MAXIMUM_PROBLEMS) problems.push(problem);
    else dropped += 1;
  });
  if (dropped > 0) problems.push({ severity: isWrong ? 'error' : 'warning', path: '', message: `and ${dropped} more problems` });
  return { read: found, isWrong, problems };
}

/** Formats a problem as one line, such as `spec.port: must be a whole number`. */
export function problemText({ path, message }: ResourceProblem): string {
  return path === '' ? message : `${path}: ${message}`;
}

export function isSkupperKind(kind: string): kind is SkupperKind {
  return Object.hasOwn(specShapes, kind);
}

function readResource(value: unknown, report: Report): { kind: SkupperKind; name: string; resource?: SkupperResource } | undefined {
  const error = (path: string, message: string) => report({ severity: 'error', path, message });
  if (!isRecord(value)) return void error('', 'a resource is an object with `apiVersion`, `kind`, `metadata` and `spec`');
  const { apiVersion, kind, metadata, spec } = ownFields(value);
  if (kind === 'List')
    return void error('kind', 'is a List: write its items as documents with `---` between them, or give it to `earshot apply -f FILE`');
  if (apiVersion !== API_VERSION) return void error('apiVersion', `must be ${API_VERSION}${butIs(apiVersion)}`);
  if (!isText(kind) || !isSkupperKind(kind)) {
    const kinds = Object.keys(specShapes);
    return void error('kind', `must be one of ${kinds.join(', ')}${butIs(kind)}${isText(kind) ? didYouMean(kind, kinds) : ''}`);
  }
  for (const key of Object.keys(value)) {
    if (!topLevel.has(key)) report({ severity: 'warning', path: quotedUnlessPlain(key), message: 'is not known here and has no effect' });
  }
  const meta = readMetadata(metadata, report);
  const checked = checkValue(specShapes[kind], spec ?? {}, 'spec', report);
  if (meta === undefined) return undefined;
  if (!isRecord(checked)) return { kind, name: meta.name };
  // The value has just been validated against the schema of this kind, from which the type is derived.
  const resource = { apiVersion, kind, metadata: meta, spec: checked } as unknown as SkupperResource;
  return { kind, name: meta.name, resource };
}

const topLevel: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata', 'spec', 'status']);

function readMetadata(value: unknown, report: Report): (ObjectMeta & { readonly name: string }) | undefined {
  const error = (path: string, message: string) => report({ severity: 'error', path, message });
  if (!isRecord(value)) return void error('metadata', 'must be an object with a `name`');
  const { name, namespace, labels, annotations, uid, creationTimestamp, generation } = ownFields(value);
  if (!isText(name)) return void error('metadata.name', name === undefined ? 'must be given' : 'must be text: put it in quotes');
  if (!isResourceName(name)) {
    const form = 'lower-case letters, digits, hyphens and dots, each part beginning and ending with a letter or digit';
    return void error('metadata.name', `must be ${form}, not ${quoted(name)}`);
  }
  if (namespace !== undefined && !isText(namespace)) error('metadata.namespace', 'must be text');
  return {
    name,
    ...(isText(namespace) ? { namespace } : {}),
    ...textsOf('labels', labels, report),
    ...textsOf('annotations', annotations, report),
    ...(isText(uid) ? { uid } : {}),
    ...(isText(creationTimestamp) ? { creationTimestamp } : {}),
    ...(typeof generation === 'number' ? { generation } : {}),
  };
}

function textsOf(name: 'labels' | 'annotations', value: unknown, report: Report): Pick<ObjectMeta, 'labels' | 'annotations'> {
  if (value === undefined || value === null) return {};
  const checked = checkValue(textMap, value, `metadata.${name}`, report);
  if (!isRecord(checked)) return {};
  return { [name]: Object.fromEntries(Object.entries(checked).filter((entry): entry is [string, string] => isText(entry[1]))) };
}

const textMap: Structural = { type: 'object', additionalProperties: { type: 'string' } };

function butIs(value: unknown): string {
  return isText(value) ? `, not ${quoted(value)}` : '';
}

/** Own fields only: hostile input may use names of Object.prototype's properties as keys. */
function ownFields(value: object): Readonly<Record<string, unknown>> {
  return Object.assign(Object.create(null), value);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function quotedUnlessPlain(key: string): string {
  return /^[A-Za-z]\w{0,62}$/.test(key) ? key : quoted(key);
}
