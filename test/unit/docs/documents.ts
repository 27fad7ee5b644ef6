/** The documents that people read, taken apart for tests. */
import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export interface Document {
  /** Relative to the checkout. */
  readonly path: string;
  readonly text: string;
}

export const root = fileURLToPath(new URL('../../..', import.meta.url));

export function documents(): readonly Document[] {
  const paths = globSync(['*.md', 'docs/**/*.md', 'examples/**/*.md'], { cwd: root }).toSorted();
  return paths.map((path) => ({ path, text: readFileSync(`${root}${path}`, 'utf8') }));
}

/** Code in blocks, fenced or indented by four, which also lists and quotes have. */
export function codeLines({ text }: Document): readonly string[] {
  const lines: string[] = [];
  let fenced = false;
  for (const line of text.split('\n')) {
    if (/^\s*```/.test(line)) fenced = !fenced;
    else if (fenced || line.startsWith('    ')) lines.push(line.trim());
  }
  return lines;
}

/** Text outside of code blocks. */
export function prose({ text }: Document): string {
  const lines: string[] = [];
  let fenced = false;
  for (const line of text.split('\n')) {
    if (/^\s*```/.test(line)) fenced = !fenced;
    else if (!fenced && !line.startsWith('    ')) lines.push(line);
  }
  return lines.join('\n');
}

/** Short code in the running text. */
export function codeSpans(document: Document): readonly string[] {
  return [...prose(document).matchAll(/`([^`]+)`/g)].map(([, code = '']) => code.replaceAll(/\s+/g, ' '));
}

export function headings(document: Document): readonly string[] {
  return [...prose(document).matchAll(/^#{1,6} +(.+?)\s*$/gm)].map(([, heading = '']) => heading);
}

/** Targets of links, without those to other websites. */
export function relativeLinks(document: Document): readonly string[] {
  const text = prose(document).replaceAll(/`[^`]*`/g, '');
  return [...text.matchAll(/\]\(\s*([^)\s]+)\s*\)/g)].map(([, target = '']) => target).filter((target) => !/^[a-z]+:/.test(target));
}

/** The anchor that a heading gets on GitHub: letters, digits, hyphens and underscores, in lower case. */
export function anchorOf(heading: string): string {
  return heading
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-');
}
