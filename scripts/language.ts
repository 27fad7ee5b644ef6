/**
 * Finds prose that breaks the language rules of CONTRIBUTING.md: banned words, long sentences, class names used twice.
 * Older findings are listed in test/unit/docs/language-debt.json, a list that only shrinks. `node scripts/language.ts` prints
 * the findings of the files named on the command line; `--lower` lowers the list to what is left.
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { argumentsOf } from './arguments.ts';

export interface Finding {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  readonly kind: 'word' | 'length';
  readonly text: string;
}

/** Number of findings by kind and file, and class names that several files export. */
export interface LanguageDebt {
  readonly word: Readonly<Record<string, number>>;
  readonly length: Readonly<Record<string, number>>;
  readonly classes: readonly string[];
}

const MOST_WORDS = 25;
const ROOT = join(import.meta.dirname, '..');
export const DEBT_FILE = join(ROOT, 'test/unit/docs/language-debt.json');

/** Words that hide the subject of a sentence or stand for a technical term. */
const BANNED = [
  /\b(?:whoever|whom|anew|nobody|somebody|strangers?|newcomers?)\b/i,
  /\bin the midst\b|\bof which\b|\bin turns?\b|\bis none\b|\bwhat becomes\b/i,
  /\b(?:tells?|told)\b/i,
  /\bgives? way\b|\blet go\b/i,
  /\b(?:he|his|him)\b/,
];

const DOCUMENTS = ['*.md', 'docs/**/*.md', 'examples/**/*.md'];
const SOURCES = ['{src,test,bench}/**/*.ts', 'deploy/chart/**/*.{yaml,tpl,txt}', 'scripts/**/*.{ts,sh}'];
/** Written by other tools, or the list of banned words itself. */
const SKIPPED = /generated\/|scripts\/language\.ts$|docs\/language\.test\.ts$/;

export function listFindings(root = ROOT): readonly Finding[] {
  const find = (patterns: readonly string[]): readonly string[] =>
    globSync([...patterns], { cwd: root, exclude: ['node_modules/**'] })
      .filter((file) => !SKIPPED.test(file))
      .toSorted();
  return [
    ...find(DOCUMENTS).flatMap((file) => findInDocument(file, readFileSync(join(root, file), 'utf8'))),
    ...find(SOURCES).flatMap((file) => findInSource(file, readFileSync(join(root, file), 'utf8'))),
  ];
}

export function findInDocument(file: string, text: string): readonly Finding[] {
  return proseOf(text).flatMap(({ line, text: prose }) => [
    ...wordsIn(file, line, prose),
    ...sentencesOf(prose)
      .filter((sentence) => countWords(sentence) > MOST_WORDS)
      .map((sentence) => ({ file, line, kind: 'length' as const, text: sentence })),
  ]);
}

/** Looks at comments and quoted texts only. */
export function findInSource(file: string, text: string): readonly Finding[] {
  return text.split('\n').flatMap((line, index) => {
    const parts = line.match(/\/\/.*|^\s*\/?\*.*|^\s*#.*|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`/g) ?? [];
    const prose = parts.filter((part) => part.includes(' '));
    return wordsIn(file, index + 1, prose.join(' '));
  });
}

function wordsIn(file: string, line: number, prose: string): readonly Finding[] {
  return BANNED.flatMap((pattern) => {
    const found = pattern.exec(prose);
    return found === null ? [] : [{ file, line, kind: 'word' as const, text: found[0] }];
  });
}

/** Paragraphs, list items and table cells, without code. */
function proseOf(text: string): readonly { readonly line: number; readonly text: string }[] {
  const blocks: { line: number; text: string }[] = [];
  let isOpen = false;
  let isCode = false;
  for (const [index, raw] of text.split('\n').entries()) {
    const line = raw.replaceAll(/`[^`]*`/g, 'code').replaceAll(/\]\([^)]*\)/g, ']');
    if (/^\s*```/.test(raw)) isCode = !isCode;
    const isProse = !isCode && !/^\s*```|^( {4}|\t)|^\s*$|^#/.test(raw);
    if (!isProse) isOpen = false;
    else if (line.startsWith('|')) {
      blocks.push(...line.split('|').map((cell) => ({ line: index + 1, text: cell })));
      isOpen = false;
    } else if (isOpen && !/^\s*(?:[-*]|\d+\.) /.test(line)) {
      const last = blocks.at(-1);
      if (last !== undefined) last.text += ` ${line}`;
    } else {
      blocks.push({ line: index + 1, text: line });
      isOpen = true;
    }
  }
  return blocks;
}

function sentencesOf(prose: string): readonly string[] {
  return prose.split(/(?<=[.!?])["')\]*]*\s+/);
}

function countWords(sentence: string): number {
  return sentence.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
}

/** Names of classes that more than one file exports. */
export function repeatedClasses(root = ROOT): readonly string[] {
  const files = globSync('src/**/*.ts', { cwd: root }).filter((file) => !SKIPPED.test(file));
  const names = files.flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(/^export (?:abstract )?class (\w+)/gm)].map(([, name = '']) => name),
  );
  return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))].toSorted();
}

export function countFindings(findings: readonly Finding[], kind: Finding['kind']): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { file } of findings.filter((each) => each.kind === kind)) counts[file] = (counts[file] ?? 0) + 1;
  return counts;
}

export function readDebt(): LanguageDebt {
  return JSON.parse(readFileSync(DEBT_FILE, 'utf8')) as LanguageDebt;
}

function lowered(before: Readonly<Record<string, number>>, now: Readonly<Record<string, number>>): Readonly<Record<string, number>> {
  const entries = Object.entries(before).map(([file, count]) => [file, Math.min(count, now[file] ?? 0)] as const);
  return Object.fromEntries(entries.filter(([, count]) => count > 0));
}

if (import.meta.main) {
  const { values, positionals } = argumentsOf('node scripts/language.ts [--lower] [FILE...]', {
    options: { lower: { type: 'boolean' } },
    allowPositionals: true,
  });
  const findings = listFindings();
  for (const { file, line, kind, text } of findings.filter((each) => positionals.includes(each.file)))
    console.log(`${file}:${line}: ${kind}: ${text}`);
  if (values.lower === true) {
    const before = readDebt();
    const left = repeatedClasses();
    const debt: LanguageDebt = {
      word: lowered(before.word, countFindings(findings, 'word')),
      length: lowered(before.length, countFindings(findings, 'length')),
      classes: before.classes.filter((name) => left.includes(name)),
    };
    writeFileSync(DEBT_FILE, `${JSON.stringify(debt, null, 2)}\n`);
  }
}
