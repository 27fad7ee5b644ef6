/** Reads what people and other sites wrote as YAML, within bounds. */
import { parseAllDocuments, parseDocument, type Document, type ParsedNode } from 'yaml';
import { quoted } from './printable.ts';
import { guardYaml, type YamlTrouble } from './yaml-guard.ts';
import { misindented } from './yaml-indentation.ts';

/** The documents of a text as plain values, without those that are empty. @throws SyntaxError */
export function parseYaml(text: string): readonly unknown[] {
  return parseDocuments(text).flatMap((document) => {
    const value = valueOf(document, text);
    return value === undefined ? [] : [value];
  });
}

/** The one document of a file that is Earshot's own: however much it is, it must be read back. @throws SyntaxError */
export function parseWritten(text: string): unknown {
  const document = parseDocument(text, READING);
  return valueOf(document, text);
}

/** The documents of a text, with all that is needed to write them back. What is wrong with one is said by `readDocument`. @throws SyntaxError */
export function parseDocuments(text: string): readonly Document.Parsed[] {
  const trouble = guardYaml(text);
  if (trouble !== undefined) throw notYaml(text, trouble);
  const documents = parseAllDocuments(text, READING);
  return 'empty' in documents ? [] : documents;
}

/** @throws SyntaxError */
function valueOf(document: Document.Parsed, text: string): unknown {
  const { trouble, value } = readDocument(document, text);
  if (trouble !== undefined) throw notYaml(text, trouble);
  return value;
}

/** Names the line, and holds not a word of what is in the text: that may be a secret. */
function notYaml(text: string, { offset, kind }: YamlTrouble): SyntaxError {
  return new SyntaxError(`line ${text.slice(0, offset).split('\n').length} is not YAML (${kind})`);
}

/** The library's own check for keys that come twice compares each with each. */
export const READING = { uniqueKeys: false, prettyErrors: false, logLevel: 'silent' } as const;

export interface ReadDocument {
  /** Undefined in an empty document, such as after a closing `---`. */
  readonly value?: unknown;
  readonly trouble?: YamlTrouble;
}

/** @param text what it was read from: an indentation that is wrong is looked for there */
export function readDocument(document: Document.Parsed, text?: string): ReadDocument {
  const [error] = document.errors;
  // One mistake makes many: the first is the one to mend.
  if (error !== undefined) {
    const indentation = text === undefined ? undefined : misindented(text, error.pos[0]);
    if (indentation !== undefined) return { trouble: indentation };
    const kind = error.code.toLowerCase().replaceAll('_', ' ');
    return { trouble: { offset: error.pos[0], kind, message: `it is not YAML: ${sentence(error.message)}` } };
  }
  const { contents } = document;
  if (contents === null || contents.range[0] === contents.range[1]) return {};
  const twice = repeatedKey(contents);
  if (twice !== undefined) return { trouble: twice };
  try {
    return { value: document.toJS({ maxAliasCount: 50 }) };
  } catch (cause) {
    // Of an alias without an anchor, or of more that aliases stand for than is read.
    const message = `it cannot be read: ${sentence(cause instanceof Error ? cause.message : String(cause))}`;
    return { trouble: { offset: contents.range[0], kind: 'aliases', message } };
  }
}

/** The first key that a map holds twice: which value would count is for the person to say. */
function repeatedKey(root: ParsedNode): YamlTrouble | undefined {
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
      // A key may itself be a map; then it is no field of ours, and the validator says so.
      if ('value' in key) {
        const name = String(key.value);
        if (seen.has(name)) {
          const message = `the key ${quoted(name)} stands there twice; remove one.`;
          return { offset: key.range[0], kind: 'duplicate key', message };
        }
        seen.add(name);
      }
      if (value !== null) open.push(value);
    }
  }
  return undefined;
}

/** The library's first line, without its place: that is told apart. */
function sentence(message: string): string {
  const [first = ''] = message.split('\n');
  return `${first
    .replace(/ at line \d+, column \d+:?$/, '')
    .replace(/[.:]$/, '')
    .slice(0, 200)}.`;
}
