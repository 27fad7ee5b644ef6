import type { YamlTrouble } from './yaml-guard.ts';

/**
 * The line of a document whose indentation fits none of those around it: a parser notices only later, and says it in words of its own. To
 * be asked of a text that is no YAML; where it is not sure it finds nothing.
 * @param near where the parser gave up
 */
export function misindented(text: string, near: number): YamlTrouble | undefined {
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

function troubleAt(begin: number, { spaces, neighbours }: Misfit): YamlTrouble {
  const message = `it is indented by ${spaces} ${spaces === 1 ? 'space' : 'spaces'}, its neighbours by ${neighbours}.`;
  return { offset: begin + spaces, kind: 'indentation', message };
}

interface Misfit {
  readonly spaces: number;
  readonly neighbours: number;
}

/** The indentations that are open, outermost first. */
class Levels {
  readonly #open: number[] = [];
  /** The last line leaves its value to those below it. */
  #opens = true;
  /** Lines that are further in than this are a text. */
  #text: number | undefined;

  add(line: string): 'fits' | 'unsure' | Misfit {
    const [, spaces = '', dashes = '', rest = ''] = /^( *)((?:- +)*)(.*)$/s.exec(line.replace(/(?:^|\s)#.*$/s, '').trimEnd()) ?? [];
    const indent = spaces.length;
    if ((dashes === '' && rest === '') || rest.startsWith('---') || rest === '...') return 'fits';
    if (this.#text !== undefined && indent > this.#text) return 'fits';
    this.#text = undefined;
    if (rest.startsWith('\t') || !isPlain(rest)) return 'unsure';
    const isEntry = dashes !== '' || rest === '-' || /^[^\s:]+:(?:\s|$)/.test(rest);
    // A text that goes on.
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

/** No brackets and quotes that may go on in the next line. */
function isPlain(text: string): boolean {
  const count = (pattern: RegExp): number => text.match(pattern)?.length ?? 0;
  return count(/[[{]/g) === count(/[\]}]/g) && count(/"/g) % 2 === 0 && count(/'/g) % 2 === 0;
}
