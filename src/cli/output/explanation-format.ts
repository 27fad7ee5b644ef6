/** Explanations for people: 80 columns, one line for steps that pass together, and the cause with what to do. */
import { styleText } from 'node:util';
import type { Explanation, Step, StepState } from '../../explain/step.ts';
import { printable } from '../../text/printable.ts';

export interface ExplanationFormat {
  /** Facts for the head line: `key "web"`; may be empty. */
  readonly title: string;
  /** Whether to show only what does not work. */
  readonly isShort: boolean;
  readonly isColoured: boolean;
}

const COLUMNS = 80;
/** Columns of the mark and of the names of steps. */
const MARK = 8;
const NAMES = 17;
const TEXT = COLUMNS - MARK - NAMES;

const MARKS: Readonly<Record<StepState, string>> = { pass: 'ok', warn: 'warn', wait: 'wait', fail: 'FAIL', unknown: '?', skip: '-' };
const VERDICTS: Readonly<Record<StepState, string>> = {
  pass: 'Works',
  warn: 'Works, with warnings',
  wait: 'Waiting',
  fail: 'Fails',
  unknown: 'Not fully examined',
  skip: 'Not examined',
};
const COLOURS = { pass: 'green', warn: 'yellow', wait: 'yellow', fail: 'red', unknown: 'cyan', skip: 'gray' } as const;

export function formatExplanation(explanation: Explanation, format: ExplanationFormat): string {
  const { object, verdict, steps } = explanation;
  const [kind = '', ...name] = object.split('/');
  const head = `${kind} ${name.join('/')}${format.title === '' ? '' : `, ${format.title}`}`;
  const word = VERDICTS[verdict];
  const shown = printable(head);
  const gap = Math.max(2, COLUMNS - [...shown].length - word.length);
  const first = `${shown}${' '.repeat(gap)}${coloured(word, verdict, format)}\n`;
  const chosen = format.isShort ? steps.filter(({ state }) => !['pass', 'skip'].includes(state)) : steps;
  return `${first}${groupsOf(chosen)
    .map((group) => groupLines(group, format))
    .join('')}`;
}

/** Steps without a problem share a line while their names and texts fit. */
function groupsOf(steps: readonly Step[]): readonly (readonly Step[])[] {
  const groups: Step[][] = [];
  for (const step of steps) {
    const last = groups.at(-1);
    const joined = [...(last ?? []), step];
    const fits = namesOf(joined).length < NAMES && textOf(joined).length <= TEXT;
    if (last !== undefined && last[0]?.state === step.state && (step.state === 'skip' || (step.state === 'pass' && fits))) last.push(step);
    else groups.push([step]);
  }
  return groups;
}

function groupLines(steps: readonly Step[], format: ExplanationFormat): string {
  const [first] = steps;
  if (first === undefined) return '';
  const { state, do: remedy } = first;
  if (state === 'skip') return wrapped('-', 'not checked', steps.map(nameOf).join(', '), 'skip', format);
  const code = first.code === undefined || state === 'pass' ? '' : ` (${first.code})`;
  const line = wrapped(MARKS[state], namesOf(steps), `${textOf(steps)}${code}`, state, format);
  return remedy === undefined || state === 'pass' ? line : `${line}${wrapped('do', '', printable(remedy), undefined, format)}`;
}

/** The last part of the id: `listener.port` is `port`. */
function nameOf({ id }: Step): string {
  return id.slice(id.indexOf('.') + 1);
}

const namesOf = (steps: readonly Step[]): string => [...new Set(steps.map(nameOf))].join(', ');
const textOf = (steps: readonly Step[]): string => steps.map(({ says }) => printable(says)).join('; ');

function wrapped(mark: string, names: string, text: string, state: StepState | undefined, format: ExplanationFormat): string {
  const [first = '', ...rest] = linesOf(text);
  const begin = `  ${state === undefined ? mark.padEnd(MARK - 2) : coloured(mark.padEnd(MARK - 2), state, format)}`;
  const indent = ' '.repeat(MARK + NAMES);
  return `${begin}${names.padEnd(NAMES)}${first}\n${rest.map((line) => `${indent}${line}\n`).join('')}`;
}

/** Breaks text between words. A longer word has a line of its own, so that it can be copied. */
function linesOf(text: string): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= TEXT) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

function coloured(text: string, state: StepState, { isColoured }: ExplanationFormat): string {
  return isColoured ? styleText(COLOURS[state], text, { validateStream: false }) : text;
}
