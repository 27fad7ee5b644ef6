/** Commands as documents show them, held against the program. */
import type { Command } from 'commander';
import { buildProgram } from '../../../src/cli/program.ts';

const program = buildProgram({ out: () => {}, note: () => {}, input: () => Promise.resolve('') });

/** Each `earshot …` of a line of shell, as words up to whatever ends the command. */
export function commandsIn(line: string): readonly (readonly string[])[] {
  const found = line.matchAll(/(?:^|[|;(&]\s*|\$ |(?:sudo|ssh \S+) )earshot((?: +(?:"[^"]*"|'[^']*'|[^\s|;&)>]+))+)/g);
  return [...found].map(([, words = '']) => [...words.matchAll(/"[^"]*"|'[^']*'|\S+/g)].map(([word]) => word));
}

/** @returns what is wrong with it; `…` and words in capitals stand for something, and `#` begins a remark */
export function problemOf(words: readonly string[]): string | undefined {
  let command: Command = program;
  let skip = false;
  for (const word of words) {
    if (word === '#') return undefined;
    if (skip) {
      skip = false;
    } else if (word.startsWith('-') && word !== '-') {
      const option = optionOf(command, word.split('=', 1)[0] ?? word);
      if (option === undefined) return `it has no ${word}`;
      skip = option.required && !word.includes('=');
    } else if (command.commands.length > 0 && !/^[A-Z…]/.test(word)) {
      const next = command.commands.find((one) => one.name() === word);
      if (next === undefined) return `there is no ${word}`;
      command = next;
    }
  }
  return undefined;
}

/** Options of the commands above count as well: `-n` may stand anywhere. */
function optionOf(command: Command, name: string): { readonly required: boolean } | undefined {
  if (name === '--help' || name === '-h') return { required: false };
  for (let at: Command | null = command; at !== null; at = at.parent) {
    const found = at.options.find(({ short, long }) => short === name || long === name);
    if (found !== undefined) return found;
  }
  return undefined;
}
