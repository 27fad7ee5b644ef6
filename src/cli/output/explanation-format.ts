/** Explanations for people: 80 columns, one line for steps that pass together, and the cause with what to do. */
import { styleText } from 'node:util';
import type { Explanation, Step, StepState } from '../../explain/step.ts';
import { printable } from '../../text/printable.ts';
import type { Terminal } from './terminal.ts';

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
  const first = headLine(head, verdict, format);
  const chosen = format.isShort ? steps.filter(({ state }) => !['pass', 'skip'].includes(state)) : steps;
  return `${first}${groupsOf(chosen)
    .map((group) => groupLines(group, format))
    .join('')}`;
}

/** Lines about one step, with what to do. @param name what stands before its text */
export function stepLines(step: Step, name: string, format: Pick<ExplanationFormat, 'isColoured'>): string {
  const { state, says, code, do: remedy } = step;
  const text = `${printable(says)}${code === undefined || state === 'pass' ? '' : ` (${code})`}`;
  const line = wrapped(MARKS[state], printable(name), text, state, format);
  return remedy === undefined || state === 'pass' ? line : `${line}${wrapped('do', '', printable(remedy), undefined, format)}`;
}

/** First line: the examined object, and the verdict at the right. */
export function headLine(text: string, verdict: StepState, format: Pick<ExplanationFormat, 'isColoured'>): string {
  const word = VERDICTS[verdict];
  const shown = printable(text);
  return `${shown}${' '.repeat(Math.max(2, COLUMNS - [...shown].length - word.length))}${coloured(word, verdict, format)}\n`;
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
  const { state } = first;
  if (state === 'skip') return wrapped('-', 'not checked', steps.map(stepName).join(', '), 'skip', format);
  return stepLines({ ...first, says: textOf(steps) }, namesOf(steps), format);
}

/** Name of a step for people: `port` for `listener.port`. */
export function stepName({ id }: Step): string {
  return id.slice(id.indexOf('.') + 1);
}

const namesOf = (steps: readonly Step[]): string => [...new Set(steps.map(stepName))].join(', ');
const textOf = (steps: readonly Step[]): string => steps.map(({ says }) => printable(says)).join('; ');

/** Whether output for people has colours (https://no-color.org). */
export function isScreenColoured({ isScreen }: Terminal): boolean {
  return isScreen === true && (process.env['NO_COLOR'] ?? '') === '';
}

function wrapped(
  mark: string,
  names: string,
  text: string,
  state: StepState | undefined,
  format: Pick<ExplanationFormat, 'isColoured'>,
): string {
  const [first = '', ...rest] = linesOf(text);
  const begin = `  ${state === undefined ? mark.padEnd(MARK - 2) : coloured(mark.padEnd(MARK - 2), state, format)}`;
  const indent = ' '.repeat(MARK + NAMES);
  // A long name has a line of its own.
  const head = [...names].length < NAMES ? `${begin}${names.padEnd(NAMES)}` : `${begin}${names}\n${indent}`;
  return `${head}${first}\n${rest.map((line) => `${indent}${line}\n`).join('')}`;
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

function coloured(text: string, state: StepState, { isColoured }: Pick<ExplanationFormat, 'isColoured'>): string {
  return isColoured ? styleText(COLOURS[state], text, { validateStream: false }) : text;
}
