import { pino, type Logger as PinoLogger } from 'pino';
import { fstatSync } from 'node:fs';
import { isatty } from 'node:tty';
import { standardOutput } from './log-destination.ts';
import { chooseFormat, formatLine } from './log-format.ts';

export type Logger = PinoLogger;

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

/**
 * Logs one line per entry to standard output, with RFC 3339 times. The format is JSON, so that a hostile name cannot forge a
 * line, with a priority in the journal, and text at a terminal.
 */
export function createLogger(options: { readonly level: LogLevel; readonly component: string }): Logger {
  const destination = standardOutput();
  const { dev: device, ino: inode } = fstatSync(1, { bigint: true });
  const format = chooseFormat({ isTerminal: isatty(1), device, inode, journalStream: process.env['JOURNAL_STREAM'] });
  const log = pino(
    {
      level: options.level,
      base: { component: options.component },
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { error: describeError },
      messageKey: 'message',
    },
    { write: (line: string) => destination.write(formatLine(line, format)) },
  );
  destination.onResumed = (lines) => log.warn({ lines }, `${lines} lines are missing here: standard output was blocked`);
  return log;
}

/** An error as an object in a log line: code and message, and those of its causes. */
function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error ? error.code : undefined;
  return {
    type: error.name,
    ...(code === undefined ? {} : { code }),
    message: error.message,
    stack: error.stack,
    ...(error.cause === undefined ? {} : { cause: describeError(error.cause) }),
  };
}

/** Message of any thrown value on one line, with causes that the message does not contain. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { message, cause } = error;
  if (!(cause instanceof Error)) return message;
  const why = messageOf(cause);
  const isNamed = message.includes(why) || ('code' in cause && message.includes(`(${String(cause.code)})`));
  return isNamed ? message : `${message}: ${why}`;
}
