/** What a log entry, a line of JSON, looks like where it goes: pure. */
import { isRecord } from '../text/is-record.ts';
import { printable } from '../text/printable.ts';

/** `text` for people at a terminal, `journal` for JSON with a priority, `json` for everything else. */
export type LogFormat = 'json' | 'text' | 'journal';

/** What is known of standard output. */
export interface OutputFacts {
  readonly isTerminal: boolean;
  readonly device: number | bigint;
  readonly inode: number | bigint;
  /** JOURNAL_STREAM of systemd.exec(5): `DEVICE:INODE` of the journal's socket. */
  readonly journalStream: string | undefined;
}

/** A variable that was inherited does not mean that standard output is still the journal: device and inode tell. */
export function chooseFormat({ isTerminal, device, inode, journalStream }: OutputFacts): LogFormat {
  if (isTerminal) return 'text';
  return journalStream === `${device}:${inode}` ? 'journal' : 'json';
}

/** @param line with its line break */
export function formatLine(line: string, format: LogFormat): string {
  if (format === 'json') return line;
  return format === 'journal' ? `<${PRIORITIES.get(levelOf(line)) ?? 6}>${line}` : `${textOf(line)}\n`;
}

/** sd-daemon(3), syslog(3). */
const PRIORITIES: ReadonlyMap<string, number> = new Map([
  ['fatal', 2],
  ['error', 3],
  ['warn', 4],
  ['info', 6],
  ['debug', 7],
  ['trace', 7],
]);

/** An entry begins with its level. */
const levelOf = (line: string): string => /^\{"level":"([a-z]+)"/.exec(line)?.[1] ?? '';

/** Levels whose entries show where in the program an error came from. */
const WITH_STACK: ReadonlySet<unknown> = new Set(['error', 'fatal']);

/** The same for people; what is not an entry as it is. */
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

/** With those of what caused it. */
function messageIn(error: unknown): unknown {
  if (!isRecord(error)) return error;
  return error['cause'] === undefined ? error['message'] : `${String(error['message'])}: ${String(messageIn(error['cause']))}`;
}

function valueText(value: unknown): string {
  return typeof value === 'string' && /^[\w.:/@+-]+$/.test(value) ? value : JSON.stringify(value);
}
