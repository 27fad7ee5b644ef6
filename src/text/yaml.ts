/** Parses untrusted YAML within limits. */
import { parseAllDocuments, parseDocument, type Document, type ParsedNode } from 'yaml';
import { quoted } from './printable.ts';
import { guardYaml, type YamlProblem } from './yaml-guard.ts';
import { misindented } from './yaml-indentation.ts';

/**
 * Parses the documents of a text to plain values, without empty ones.
 * @throws SyntaxError
 */
export function parseYaml(text: string): readonly unknown[] {
  return parseDocuments(text).flatMap((document) => {
    const value = valueOf(document, text);
    return value === undefined ? [] : [value];
  });
}

/**
 * Parses the single document of a file that Earshot wrote. No size limit, because it must be readable.
 * @throws SyntaxError
 */
export function parseWritten(text: string): unknown {
  const document = parseDocument(text, READING);
  return valueOf(document, text);
}

/**
 * Parses the documents of a text with everything needed to write them back. `readDocument` reports errors within a document.
 * @throws SyntaxError
 */
export function parseDocuments(text: string): readonly Document.Parsed[] {
  const problem = guardYaml(text);
  if (problem !== undefined) throw notYaml(text, problem);
  const documents = parseAllDocuments(text, READING);
  return 'empty' in documents ? [] : documents;
}

/** @throws SyntaxError */
function valueOf(document: Document.Parsed, text: string): unknown {
  const { problem, value } = readDocument(document, text);
  if (problem !== undefined) throw notYaml(text, problem);
  return value;
}

/** An error that names the line but contains nothing of the text, which may be secret. */
function notYaml(text: string, { offset, kind }: YamlProblem): SyntaxError {
  return new SyntaxError(`line ${text.slice(0, offset).split('\n').length} is not YAML (${kind})`);
}

/** The library's own check for repeated keys is quadratic. */
export const READING = { uniqueKeys: false, prettyErrors: false, logLevel: 'silent' } as const;

export interface ReadDocument {
  /** Undefined for an empty document, such as after a closing `---`. */
  readonly value?: unknown;
  readonly problem?: YamlProblem;
}

/** @param text source of the document, to find a wrong indentation */
export function readDocument(document: Document.Parsed, text?: string): ReadDocument {
  const [error] = document.errors;
  // One mistake causes many errors, so only the first one is reported.
  if (error !== undefined) {
    const indentation = text === undefined ? undefined : misindented(text, error.pos[0]);
    if (indentation !== undefined) return { problem: indentation };
    const kind = error.code.toLowerCase().replaceAll('_', ' ');
    return { problem: { offset: error.pos[0], kind, message: `it is not YAML: ${sentence(error.message)}` } };
  }
  const { contents } = document;
  if (contents === null || contents.range[0] === contents.range[1]) return {};
  const twice = repeatedKey(contents);
  if (twice !== undefined) return { problem: twice };
  try {
    return { value: document.toJS({ maxAliasCount: 50 }) };
  } catch (cause) {
    // An alias without an anchor, or aliases that expand beyond the limit.
    const message = `it cannot be read: ${sentence(cause instanceof Error ? cause.message : String(cause))}`;
    return { problem: { offset: contents.range[0], kind: 'aliases', message } };
  }
}

/** The first repeated key of a map. Which value is meant is unknown, so it is an error. */
function repeatedKey(root: ParsedNode): YamlProblem | undefined {
  const open: ParsedNode[] = [root];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (!('items' in node)) continue;
    const seen = new Set<string>();
    for (const item of node.items) {
      if (!('key' in item)) {
        open.push(item);
        continue;
      }
      const { key, value } = item;
      // A key may itself be a map. It is then not one of our fields, and the validator reports it.
      if ('value' in key) {
        const name = String(key.value);
        if (seen.has(name)) {
          const message = `the key ${quoted(name)} occurs twice; remove one.`;
          return { offset: key.range[0], kind: 'duplicate key', message };
        }
        seen.add(name);
      }
      if (value !== null) open.push(value);
    }
  }
  return undefined;
}

/** The first line of the library's message without the position, which is reported separately. */
function sentence(message: string): string {
  const [first = ''] = message.split('\n');
  return `${first
    .replace(/ at line \d+, column \d+:?$/, '')
    .replace(/[.:]$/, '')
    .slice(0, 200)}.`;
}
