import type { YamlProblem } from './yaml-guard.ts';

/**
 * Finds the line whose indentation does not match its neighbours. A parser notices this only later, with a less helpful message.
 * For texts that are not valid YAML; returns undefined if unsure.
 * @param near offset at which the parser failed
 */
export function misindented(text: string, near: number): YamlProblem | undefined {
  const first = text.lastIndexOf(NEXT_DOCUMENT, near) + 1;
  const last = text.indexOf(NEXT_DOCUMENT, near);
  const levels = new Levels();
  let offset = first;
  for (const line of text.slice(first, last === -1 ? undefined : last).split('\n')) {
    const found = levels.add(line);
    if (found === 'unsure') return undefined;
    if (found !== 'fits') return troubleAt(offset, found);
    offset += line.length + 1;
  }
  return undefined;
}

const NEXT_DOCUMENT = '\n---';

function troubleAt(begin: number, { spaces, neighbours }: Misfit): YamlProblem {
  const message = `it is indented by ${spaces} ${spaces === 1 ? 'space' : 'spaces'}, its neighbours by ${neighbours}.`;
  return { offset: begin + spaces, kind: 'indentation', message };
}

interface Misfit {
  readonly spaces: number;
  readonly neighbours: number;
}

/** Open indentations, outermost first. */
class Levels {
  readonly #open: number[] = [];
  /** Whether the value of the last line follows on the next lines. */
  #opens = true;
  /** Indentation of a block scalar; deeper lines belong to it. */
  #text: number | undefined;

  add(line: string): 'fits' | 'unsure' | Misfit {
    const [, spaces = '', dashes = '', rest = ''] = /^( *)((?:- +)*)(.*)$/s.exec(line.replace(/(?:^|\s)#.*$/s, '').trimEnd()) ?? [];
    const indent = spaces.length;
    if ((dashes === '' && rest === '') || rest.startsWith('---') || rest === '...') return 'fits';
    if (this.#text !== undefined && indent > this.#text) return 'fits';
    this.#text = undefined;
    if (rest.startsWith('\t') || !isPlain(rest)) return 'unsure';
    const isEntry = dashes !== '' || rest === '-' || /^[^\s:]+:(?:\s|$)/.test(rest);
    // A continued plain scalar.
    if (!isEntry) return 'fits';
    const misfit = this.#place(indent);
    if (misfit !== undefined) return misfit;
    if (dashes !== '') this.#open.push(indent + dashes.length);
    if (/(?:^|[\s:])[|>][-+\d]*$/.test(rest)) this.#text = /^[|>]/.test(rest) ? indent : indent + dashes.length;
    this.#opens = rest === '' || rest === '-' || (rest.split(/\s+/).findLast((word) => !/^[&!]./.test(word)) ?? '').endsWith(':');
    return 'fits';
  }

  #place(indent: number): Misfit | undefined {
    const open = this.#open;
    const top = open.at(-1);
    if (top === undefined || indent > top) {
      if (top !== undefined && !this.#opens) return { spaces: indent, neighbours: top };
      open.push(indent);
      return undefined;
    }
    let inner = top;
    while ((open.at(-1) ?? -1) > indent) inner = open.pop() ?? inner;
    return open.at(-1) === indent ? undefined : { spaces: indent, neighbours: inner };
  }
}

/** Whether the text has no brackets or quotes that may continue on the next line. */
function isPlain(text: string): boolean {
  const count = (pattern: RegExp): number => text.match(pattern)?.length ?? 0;
  return count(/[[{]/g) === count(/[\]}]/g) && count(/"/g) % 2 === 0 && count(/'/g) % 2 === 0;
}
