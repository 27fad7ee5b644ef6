/** Parts of all reports: tables, and a block between marks of a document. Pure. */
import type { Machine } from './machine.ts';

export function table(head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const plain = (cell: string): string => cell.replaceAll('|', '\\|').replaceAll('\n', ' ');
  const line = (cells: readonly string[]): string => `| ${cells.map(plain).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)];
}

/**
 * The document with the text between its marks replaced, `<!-- NAME:begin -->` and `<!-- NAME:end -->`. Throws where they are missing,
 * since something must be wrong then.
 */
export function replaceBlock(document: string, name: string, text: string): string {
  const [beginMark, endMark] = [`<!-- ${name}:begin -->`, `<!-- ${name}:end -->`];
  const begin = document.indexOf(beginMark);
  const end = document.indexOf(endMark);
  if (begin < 0 || end < begin) throw new Error(`the document lacks ${beginMark} and, behind it, ${endMark}`);
  return `${document.slice(0, begin + beginMark.length)}\n${text}\n${document.slice(end)}`;
}

/** With three digits that count, more where the number is larger. */
export function format(value: number, unit: string): string {
  const rounded = Math.abs(value) >= 100 ? Math.round(value) : Number(value.toPrecision(3));
  const text = rounded.toLocaleString('en', { maximumFractionDigits: 6 });
  return unit === '' ? text : `${text} ${unit}`;
}

export function machineLine(on: Machine): string {
  return `${on.date}, commit ${on.commit}, ${on.cores} × ${on.cpu}, ${on.memoryGigabytes} GiB of memory, Linux ${on.kernel}`;
}

/** Failures by scenario: the first line of each reason. */
export function failed(whys: ReadonlyMap<string, string>): readonly string[] {
  return whys.size === 0 ? [] : ['', 'What failed:', '', ...[...whys].map(([scenario, why]) => `- ${scenario}: ${why.split('\n')[0]}`)];
}
