/** Parses resources from the text of a file, with the location of each problem. */
import { Composer, isNode, Lexer, LineCounter, Parser, type Document } from 'yaml';
import { setImmediate } from 'node:timers/promises';
import { GROUP } from '../../api/skupper/names.ts';
import { isNetworkObserver, validateObserver, validateResource, type ResourceProblem } from '../../api/skupper/validate.ts';
import type { TlsBundle } from '../../router/contract.ts';
import { kindNotOnPlatform, supportsKind, type Platform } from '../../site/capabilities.ts';
import type { SiteObject } from '../../site/resources.ts';
import { linux } from './machine.ts';
import { SITE_SERVER_BUNDLE } from '../../site/plan/access.ts';
import { SERVICE_ISSUER, SITE_ISSUERS } from '../../site/plan/certificates.ts';
import { isSecret, readSecret, type NamedProxy } from './secret.ts';
import { YamlGuard, type YamlProblem } from '../../text/yaml-guard.ts';
import { isRecord } from '../../text/is-record.ts';
import { printable, quoted } from '../../text/printable.ts';
import { sentence } from '../../text/sentence.ts';
import { readDocument, READING } from '../../text/yaml.ts';

/** Problem in a file. Line and column count from 1. */
export interface FileProblem {
  /** Path relative to the namespace's directory, as the user knows it. */
  readonly file: string;
  readonly line?: number;
  readonly column?: number;
  /** For example `spec.port`. */
  readonly field?: string;
  readonly severity: 'error' | 'warning';
  readonly message: string;
  /** `Listener/backend`, if kind and name are readable. */
  readonly resource?: string;
  /** Resources whose last valid version runs because of this problem. */
  readonly affected?: readonly string[];
}

export interface ParsedFile {
  readonly objects: readonly Placed<SiteObject>[];
  /** From `v1` Secrets, which links for other sites contain. */
  readonly bundles: readonly Placed<TlsBundle>[];
  readonly proxies: readonly Placed<NamedProxy>[];
  /** Only of clusters. */
  readonly observers?: readonly Placed<FileObserver>[];
  readonly problems: readonly FileProblem[];
}

export type FileObserver = NonNullable<ReturnType<typeof validateObserver>['observer']>;

export interface Placed<T> {
  readonly value: T;
  readonly file: string;
  readonly line: number;
}

/** Maximum number of problems for each file. Further ones are only counted. */
const MOST_PROBLEMS = 50;
const MOST_DOCUMENTS = 5000;
/** Maximum number of parts of a document, which is composed in one event-loop iteration: about 50 ms. */
const MOST_PARTS = 10_000;
/** Milliseconds of work before yielding to the event loop, since connections use the same thread. */
const TURN = 5;

/**
 * @param namespace resources of another namespace get a warning
 * @param platform platform on which the resources are to run
 * @param lists whether to expand a List, as from `kubectl get -o yaml`, into its items
 */
export async function parseResources(
  text: string,
  file: string,
  namespace: string,
  platform: Platform = linux,
  lists: 'read' | 'refused' = 'refused',
): Promise<ParsedFile> {
  const problems: FileProblem[] = [];
  let dropped = 0;
  const report = (problem: FileProblem): void => {
    if (problems.length < MOST_PROBLEMS) problems.push(showable(problem));
    else dropped += 1;
  };
  const objects: Placed<SiteObject>[] = [];
  const bundles: Placed<TlsBundle>[] = [];
  const proxies: Placed<NamedProxy>[] = [];
  const observers: Placed<FileObserver>[] = [];
  const lines = new LineCounter();
  let count = 0;
  for await (const document of documents(text, lines)) {
    // The whole file is rejected.
    if ('kind' in document) return { objects: [], bundles: [], proxies: [], problems: [outOfBounds(document, text, file)] };
    count += 1;
    if (count > MOST_DOCUMENTS) {
      report({ file, severity: 'error', message: `it has more than ${MOST_DOCUMENTS} documents, and the rest is not read; split it.` });
      break;
    }
    for (const read of readResources(document, { text, lines, platform, lists }, file, namespace)) {
      read.problems.forEach(report);
      if (read.object !== undefined) objects.push({ value: read.object, file, line: read.line });
      if (read.bundle !== undefined) bundles.push({ value: read.bundle, file, line: read.line });
      if (read.observer !== undefined) observers.push({ value: read.observer, file, line: read.line });
      if (read.proxy !== undefined) proxies.push({ value: read.proxy, file, line: read.line });
    }
  }
  if (dropped > 0) problems.push({ file, severity: 'error', message: `and ${dropped} more problems.` });
  return { objects, bundles, proxies, observers, problems };
}

/** Ends after the first violation of a limit. */
async function* documents(text: string, lines: LineCounter): AsyncGenerator<Document.Parsed | YamlProblem> {
  const guard = new YamlGuard(MOST_PARTS);
  const parser = new Parser(lines.addNewLine);
  const composer = new Composer({ ...READING, lineCounter: lines });
  lines.addNewLine(0);
  let since = performance.now();
  for (const lexeme of new Lexer().lex(text)) {
    const invalid = guard.add(lexeme);
    if (invalid !== undefined) {
      yield invalid;
      return;
    }
    for (const token of parser.next(lexeme)) yield* composer.next(token);
    if (performance.now() - since < TURN) continue;
    await setImmediate();
    since = performance.now();
  }
  for (const token of parser.end()) yield* composer.next(token);
  yield* composer.end();
}

function outOfBounds({ offset, message }: YamlProblem, text: string, file: string): FileProblem {
  const before = text.slice(0, offset);
  return { file, line: before.split('\n').length, column: offset - before.lastIndexOf('\n'), severity: 'error', message };
}

/** Source of a document. */
interface Source {
  readonly text: string;
  readonly lines: LineCounter;
  readonly platform: Platform;
  readonly lists: 'read' | 'refused';
}

interface ReadResource {
  readonly line: number;
  readonly object?: SiteObject;
  readonly bundle?: TlsBundle;
  readonly proxy?: NamedProxy;
  readonly observer?: FileObserver;
  readonly problems: readonly FileProblem[];
}

/** Whether the value is a List, which `kubectl get -o yaml` prints for several objects. */
export function isList(value: unknown): value is { readonly items: readonly unknown[] } {
  return isRecord(value) && value['kind'] === 'List' && Array.isArray(value['items']);
}

function readResources(document: Document.Parsed, source: Source, file: string, namespace: string): readonly ReadResource[] {
  const { value, problem: invalid } = readDocument(document, source.text);
  const { line } = place(source, document.contents?.range[0] ?? document.range[0]);
  if (invalid !== undefined)
    return [{ line, problems: [{ file, ...place(source, invalid.offset), severity: 'error', message: invalid.message }] }];
  if (value === undefined) return [];
  if (source.lists === 'read' && isList(value))
    return value.items.map((item, index) => readValue(item, `items[${index}]`, document, source, file, namespace));
  return [readValue(value, '', document, source, file, namespace)];
}

function place({ lines }: Source, offset: number): { readonly line: number; readonly column: number } {
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(1, line), column: Math.max(1, col) };
}

/** @param root path of the value in the document */
function readValue(value: unknown, root: string, document: Document.Parsed, source: Source, file: string, namespace: string): ReadResource {
  const { platform } = source;
  const at = (path: string): { readonly line: number; readonly column: number } =>
    place(source, offsetOf(document, [root, path].filter((part) => part !== '').join('.')) ?? document.contents?.range[0] ?? 0);
  const { line } = at('');
  if (isSecret(value)) {
    const secret = readSecret(value);
    if ('field' in secret)
      return { line, problems: [{ file, line, field: secret.field, severity: 'error', message: `${secret.message}.` }] };
    if ('bundle' in secret && isOwnBundle(secret.bundle.name) && !platform.capabilities.has('services')) {
      const message = `a Secret ${quoted(secret.bundle.name)} is ignored: the site's own certificates have this name. Put yours into input/issuers, or input/certs.`;
      return { line, problems: [{ file, ...at('metadata.name'), field: 'metadata.name', severity: 'warning', message }] };
    }
    return { line, ...secret, problems: [] };
  }
  if (isForeign(value) && !platform.capabilities.has('services')) {
    const message = `a ${printable(value.kind, 100)} (${printable(value.apiVersion, 100)}) has no effect without a cluster, so it is ignored.`;
    return { line, problems: [{ file, ...at('kind'), field: 'kind', severity: 'warning', message }] };
  }
  const problem = ({ severity, path, message }: ResourceProblem, key: Pick<FileProblem, 'resource'> = {}): FileProblem => {
    return { file, ...at(path), ...(path === '' ? {} : { field: path }), severity, message: sentence(message), ...key };
  };
  const elsewhere = ({ metadata }: Pick<SiteObject, 'metadata'>, key: Pick<FileProblem, 'resource'>): readonly FileProblem[] => {
    const other = metadata.namespace;
    if (other === undefined || other === namespace) return [];
    const message = `is ${quoted(other)}, but this directory is the namespace ${namespace}, so the resource runs here; remove the field.`;
    return [{ file, ...at('metadata.namespace'), field: 'metadata.namespace', severity: 'warning', message, ...key }];
  };
  if (isNetworkObserver(value) && platform.capabilities.has('services')) {
    const { observer, problems: found } = validateObserver(value);
    const invalid = found.map((each) => problem(each));
    return observer === undefined ? { line, problems: invalid } : { line, observer, problems: [...invalid, ...elsewhere(observer, {})] };
  }
  const { resource, identity, problems: found } = validateResource(withMachineDefaults(value, platform));
  const key = identity === undefined ? {} : { resource: `${identity.kind}/${identity.name}` };
  const problems = found.map((each) => problem(each, key));
  if (resource === undefined) return { line, problems };
  if (!supportsKind(resource.kind, platform.capabilities)) {
    const message = kindNotOnPlatform(resource.kind);
    return { line, problems: [...problems, { file, line, field: 'kind', severity: 'error', message, ...key }] };
  }
  const object = { ...resource, metadata: { ...resource.metadata, namespace } };
  return { line, object, problems: [...problems, ...elsewhere(resource, key)] };
}

/** Whether it is an object of another API, such as a ConfigMap. Skupper keeps some beside its resources. */
/** Another site writes the file of a Link. A Secret in it must not decide which certificates this site trusts. */
function isOwnBundle(name: string): boolean {
  return name === SITE_SERVER_BUNDLE || name === SERVICE_ISSUER || SITE_ISSUERS.has(name);
}

function isForeign(value: unknown): value is { readonly apiVersion: string; readonly kind: string } {
  if (!isRecord(value) || isList(value) || value['kind'] === 'List') return false;
  const { apiVersion, kind, metadata } = value;
  if (typeof apiVersion !== 'string' || typeof kind !== 'string' || !isRecord(metadata)) return false;
  return /^[a-z0-9./-]{1,253}$/.test(apiVersion) && apiVersion.split('/')[0] !== GROUP;
}

/** On a machine, a RouterAccess may leave out `tlsCredentials`. Then its bundle has its name. */
function withMachineDefaults(value: unknown, { capabilities }: Platform): unknown {
  if (capabilities.has('services') || !isRecord(value) || value['kind'] !== 'RouterAccess') return value;
  const { metadata, spec } = value;
  if (!isRecord(metadata) || !isRecord(spec) || (spec['tlsCredentials'] ?? '') !== '') return value;
  return { ...value, spec: { ...spec, tlsCredentials: metadata['name'] } };
}

/** Offset of a field such as `spec.ports[0].name`, or of its nearest parent that exists. */
function offsetOf(document: Document.Parsed, path: string): number | undefined {
  const steps = [...path.matchAll(/\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]|([^.[\]]+)/g)].map(([, index, inQuotes, name]) =>
    index !== undefined ? Number(index) : inQuotes !== undefined ? unquote(inQuotes) : name,
  );
  for (let length = steps.length; length > 0; length--) {
    const node = document.getIn(steps.slice(0, length), true);
    if (isNode(node) && node.range != null) return node.range[0];
  }
  return undefined;
}

function unquote(text: string): string {
  try {
    return String(JSON.parse(text));
  } catch {
    return text;
  }
}

/** Messages quote the file. Replace control characters, which a terminal would obey. */
function showable(problem: FileProblem): FileProblem {
  const { message, field } = problem;
  return { ...problem, message: printable(message), ...(field === undefined ? {} : { field: printable(field, 300) }) };
}
