import { pino } from 'pino';
import type { Logger, LogLevel } from '../../../src/telemetry/log.ts';

type Entry = Readonly<Record<string, unknown>>;

export interface LogLines {
  readonly log: Logger;
  readonly entries: readonly Entry[];
  /** Message and these fields of each entry, `undefined` left out. */
  story(...fields: readonly string[]): readonly string[];
}

export const silentLog: Logger = pino({ level: 'silent' }, { write() {} });

/** A logger that keeps its lines for the test. */
export function logLines(level: LogLevel = 'debug'): LogLines {
  const entries: Entry[] = [];
  const log = pino(
    { level, base: null, messageKey: 'message', formatters: { level: (label) => ({ level: label }) } },
    { write: (line: string) => void entries.push(JSON.parse(line)) },
  );
  return {
    log,
    entries,
    story: (...fields) =>
      entries.map((entry) =>
        [entry['message'], ...fields.flatMap((field) => (entry[field] === undefined ? [] : [`${field}=${String(entry[field])}`]))].join(
          ' ',
        ),
      ),
  };
}
