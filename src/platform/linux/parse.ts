/** From the text of a file to resources, with the location of everything that is wrong. */
import { Composer, isNode, Lexer, LineCounter, Parser, type Document } from 'yaml';
import { setImmediate } from 'node:timers/promises';
import { validateResource } from '../../api/skupper/validate.ts';
import type { TlsBundle } from '../../router/contract.ts';
import { kindNotOnPlatform, supportsKind, type Platform } from '../../site/capabilities.ts';
import type { SiteObject } from '../../site/resources.ts';
import { linux } from './machine.ts';
import { isSecret, readSecret, type NamedProxy } from './secret.ts';
import { YamlGuard, type YamlTrouble } from '../../text/yaml-guard.ts';
import { isRecord } from '../../text/is-record.ts';
import { printable, quoted } from '../../text/printable.ts';
import { sentence } from '../../text/sentence.ts';
import { readDocument, READING } from '../../text/yaml.ts';

/** What is wrong in a file. Line and column count from 1. */
export interface FileProblem {
  /** As the person knows it: below the namespace's directory. */
  readonly file: string;
  readonly line?: number;
  readonly column?: number;
  /** `spec.port`. */
  readonly field?: string;
  readonly severity: 'error' | 'warning';
  readonly message: string;
  /** `Listener/backend`, where that much can be read. */
  readonly resource?: string;
  /** Resources that run as they were before this mistake. */
  readonly affected?: readonly string[];
}

export interface ParsedFile {
  readonly objects: readonly Placed<SiteObject>[];
  /** `v1` Secrets, as links for other sites hold them. */
  readonly bundles: readonly Placed<TlsBundle>[];
  readonly proxies: readonly Placed<NamedProxy>[];
  readonly problems: readonly FileProblem[];
}

export interface Placed<T> {
  readonly value: T;
  readonly file: string;
  readonly line: number;
}

/** Of one file; further problems are only counted. */
const MOST_PROBLEMS = 50;
const MOST_DOCUMENTS = 5000;
/** Of one document, which is put together in one turn: some fifty milliseconds of it. */
const MOST_PARTS = 10_000;
/** Milliseconds of work before others get a turn: connections pass through the same thread. */
const TURN = 5;

/**
 * @param namespace resources of another are told apart by a warning
 * @param platform where they are to run
 * @param lists whether a List of `kubectl get -o yaml` stands for its items
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
  const lines = new LineCounter();
  let count = 0;
  for await (const document of documents(text, lines)) {
    // Nothing of the file holds.
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
      if (read.proxy !== undefined) proxies.push({ value: read.proxy, file, line: read.line });
    }
  }
  if (dropped > 0) problems.push({ file, severity: 'error', message: `and ${dropped} more problems.` });
  return { objects, bundles, proxies, problems };
}

/** Ends with what is out of bounds. */
async function* documents(text: string, lines: LineCounter): AsyncGenerator<Document.Parsed | YamlTrouble> {
  const guard = new YamlGuard(MOST_PARTS);
  const parser = new Parser(lines.addNewLine);
  const composer = new Composer({ ...READING, lineCounter: lines });
  lines.addNewLine(0);
  let since = performance.now();
  for (const lexeme of new Lexer().lex(text)) {
    const trouble = guard.add(lexeme);
    if (trouble !== undefined) {
      yield trouble;
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

function outOfBounds({ offset, message }: YamlTrouble, text: string, file: string): FileProblem {
  const before = text.slice(0, offset);
  return { file, line: before.split('\n').length, column: offset - before.lastIndexOf('\n'), severity: 'error', message };
}

/** What a document was read from. */
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
  readonly problems: readonly FileProblem[];
}

/** What `kubectl get -o yaml` prints for several objects. */
export function isList(value: unknown): value is { readonly items: readonly unknown[] } {
  return isRecord(value) && value['kind'] === 'List' && Array.isArray(value['items']);
}

function readResources(document: Document.Parsed, source: Source, file: string, namespace: string): readonly ReadResource[] {
  const { value, trouble } = readDocument(document, source.text);
  const { line } = place(source, document.contents?.range[0] ?? document.range[0]);
  if (trouble !== undefined)
    return [{ line, problems: [{ file, ...place(source, trouble.offset), severity: 'error', message: trouble.message }] }];
  if (value === undefined) return [];
  if (source.lists === 'read' && isList(value))
    return value.items.map((item, index) => readValue(item, `items[${index}]`, document, source, file, namespace));
  return [readValue(value, '', document, source, file, namespace)];
}

function place({ lines }: Source, offset: number): { readonly line: number; readonly column: number } {
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(1, line), column: Math.max(1, col) };
}

/** @param root where the value is in the document */
function readValue(value: unknown, root: string, document: Document.Parsed, source: Source, file: string, namespace: string): ReadResource {
  const { platform } = source;
  const at = (path: string): { readonly line: number; readonly column: number } =>
    place(source, offsetOf(document, [root, path].filter((part) => part !== '').join('.')) ?? document.contents?.range[0] ?? 0);
  const { line } = at('');
  if (isSecret(value)) {
    const secret = readSecret(value);
    if ('field' in secret)
      return { line, problems: [{ file, line, field: secret.field, severity: 'error', message: `${secret.message}.` }] };
    return { line, ...secret, problems: [] };
  }
  const { resource, identity, problems: found } = validateResource(value);
  const key = identity === undefined ? {} : { resource: `${identity.kind}/${identity.name}` };
  const problems = found.map(({ severity, path, message }): FileProblem => {
    return { file, ...at(path), ...(path === '' ? {} : { field: path }), severity, message: sentence(message), ...key };
  });
  if (resource === undefined) return { line, problems };
  if (!supportsKind(resource.kind, platform.capabilities)) {
    const message = kindNotOnPlatform(resource.kind);
    return { line, problems: [...problems, { file, line, field: 'kind', severity: 'error', message, ...key }] };
  }
  const other = resource.metadata.namespace;
  if (other !== undefined && other !== namespace) {
    const message = `says ${quoted(other)}, but this directory is the namespace ${namespace}, so it runs here; remove the field.`;
    problems.push({ file, ...at('metadata.namespace'), field: 'metadata.namespace', severity: 'warning', message, ...key });
  }
  return { line, object: { ...resource, metadata: { ...resource.metadata, namespace } }, problems };
}

/** Where a field is, or the nearest of its parents that is there. `spec.ports[0].name` */
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

/** Words quote what the file holds, and a terminal obeys control characters: they are shown as something else. */
function showable(problem: FileProblem): FileProblem {
  const { message, field } = problem;
  return { ...problem, message: printable(message), ...(field === undefined ? {} : { field: printable(field, 300) }) };
}
