/** Formats a log entry, a line of JSON, for its destination. Pure. */
import { isRecord } from '../text/is-record.ts';
import { printable } from '../text/printable.ts';

/** `text` for people at a terminal, `journal` for JSON with a priority, `json` for everything else. */
export type LogFormat = 'json' | 'text' | 'journal';

/** Properties of standard output. */
export interface OutputFacts {
  readonly isTerminal: boolean;
  readonly device: number | bigint;
  readonly inode: number | bigint;
  /** JOURNAL_STREAM of systemd.exec(5): `DEVICE:INODE` of the journal's socket. */
  readonly journalStream: string | undefined;
}

/** Compares device and inode, because the variable may be inherited while standard output is redirected. */
export function chooseFormat({ isTerminal, device, inode, journalStream }: OutputFacts): LogFormat {
  if (isTerminal) return 'text';
  return journalStream === `${device}:${inode}` ? 'journal' : 'json';
}

/** @param line line including its line break */
export function formatLine(line: string, format: LogFormat): string {
  if (format === 'json') return line;
  return format === 'journal' ? `<${PRIORITIES.get(levelOf(line)) ?? 6}>${line}` : `${textOf(line)}\n`;
}

/** Priorities of sd-daemon(3) and syslog(3). */
const PRIORITIES: ReadonlyMap<string, number> = new Map([
  ['fatal', 2],
  ['error', 3],
  ['warn', 4],
  ['info', 6],
  ['debug', 7],
  ['trace', 7],
]);

/** Level of an entry, which is its first field. */
const levelOf = (line: string): string => /^\{"level":"([a-z]+)"/.exec(line)?.[1] ?? '';

/** Levels whose entries include the stack of an error. */
const WITH_STACK: ReadonlySet<unknown> = new Set(['error', 'fatal']);

/** Formats an entry for people; a line that is not an entry stays as it is. */
export function textOf(line: string): string {
  const entry = parsed(line);
  if (entry === undefined) return printable(line.trimEnd());
  const { level, time, component: _component, message, error, ...rest } = entry;
  const facts = Object.entries({ ...rest, ...(error === undefined ? {} : { error: messageIn(error) }) });
  const words = [time, String(level).toUpperCase().padEnd(5), message, ...facts.map(([name, value]) => `${name}=${valueText(value)}`)];
  const stack = WITH_STACK.has(level) && isRecord(error) && typeof error['stack'] === 'string' ? error['stack'].split('\n').slice(1) : [];
  return [
    words
      .filter((word) => word !== undefined)
      .map(String)
      .join(' '),
    ...stack,
  ]
    .map((text) => printable(text))
    .join('\n');
}

function parsed(line: string): Readonly<Record<string, unknown>> | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    const value: unknown = JSON.parse(line);
    return isRecord(value) && typeof value['message'] === 'string' && typeof value['time'] === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The message including those of its causes. */
function messageIn(error: unknown): unknown {
  if (!isRecord(error)) return error;
  return error['cause'] === undefined ? error['message'] : `${String(error['message'])}: ${String(messageIn(error['cause']))}`;
}

function valueText(value: unknown): string {
  return typeof value === 'string' && /^[\w.:/@+-]+$/.test(value) ? value : JSON.stringify(value);
}
