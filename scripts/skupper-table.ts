/** The table of commands in docs/from-skupper.md. */
import { readFileSync } from 'node:fs';
import { namesIn, skupperCommands, type Answer } from '../src/cli/skupper-commands.ts';

const PAGE = new URL('../docs/from-skupper.md', import.meta.url);
const [BEGIN, END] = [
  '<!-- Written by `npm run generate` from src/cli/skupper-commands.ts: change it there. -->',
  '<!-- End of the table. -->',
];

/** The whole page, with its table as the program has it now. */
export function pageForSkupper(): string {
  const page = readFileSync(PAGE, 'utf8');
  const [before, rest] = splitAt(page, BEGIN);
  const [, after] = splitAt(rest, END);
  return `${before}${BEGIN}\n\n${table()}\n\n${END}${after}`;
}

function splitAt(text: string, mark: string): readonly [before: string, after: string] {
  const at = text.indexOf(mark);
  if (at < 0) throw new Error(`docs/from-skupper.md has no line ${mark}`);
  return [text.slice(0, at), text.slice(at + mark.length)];
}

function table(): string {
  const rows = Object.entries(skupperCommands).map(([words, { answer, options = {} }]) => {
    const flags = Object.keys(options).map((each) => `\`${Object.values(namesIn(each)).toReversed().join(', ')}\``);
    const notes = [
      sentenceOf(answer),
      ...Object.entries(options).map(([each, how]) => (answer?.does === 'refused' ? '' : sentenceOf(how, namesIn(each).long))),
    ];
    const command = words === '' ? 'every command' : `\`${words}\``;
    return `| ${[command, flags.join(' '), notes.filter(Boolean).join('; ')].join(' | ')} |`;
  });
  return ['| command | options | difference |', '| --- | --- | --- |', ...rows].join('\n');
}

function sentenceOf(answer: Answer | undefined, option = ''): string {
  const of = option === '' ? '' : `\`${option}\`: `;
  if (answer === undefined || answer.note === undefined) return '';
  if (answer.does === 'same') return `${of}${answer.note}`;
  return answer.does === 'ignored' ? `${of}no effect, ${answer.note}` : `${of}ends with exit code 2: ${answer.note}`;
}
