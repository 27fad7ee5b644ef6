#!/usr/bin/env node
import { writeFileSync } from 'node:fs';
import { CommanderError } from 'commander';
import { destinationInUse } from '../telemetry/log-destination.ts';
import { messageOf } from '../telemetry/log.ts';
import { exitCodeOf, exitCodes } from './errors.ts';
import { buildProgram } from './program.ts';
import { endAtOnce } from './processes/signals.ts';
import { processTerminal } from './output/terminal.ts';

// The reader closed the pipe early, as in `earshot status | head`. Exits with the code that a shell reports for SIGPIPE.
process.stdout.on('error', (error) => {
  // A server process goes on without its log.
  if (destinationInUse() !== undefined) return;
  if (!('code' in error) || error.code !== 'EPIPE') throw error;
  process.exit(141);
});

nameProcess();

/** Maximum time in milliseconds for flushing the log. */
const FLUSH_DEADLINE = 500;
/** Milliseconds until the process is ended even if a thread still waits in a system call. */
const LINGER = 500;

try {
  await buildProgram(processTerminal).parseAsync();
} catch (error) {
  // Commander has already printed its message.
  if (!(error instanceof CommanderError)) process.stderr.write(`earshot: ${messageOf(error)}\n`);
  process.exitCode = error instanceof CommanderError ? (error.exitCode === 0 ? 0 : exitCodes.usage) : exitCodeOf(error);
  // A request in flight must not delay the end.
  if (process.exitCode === exitCodes.interrupted) process.exit();
}

// A log that cannot be written must not keep the process alive: neither buffered lines nor a write that never returns.
const log = destinationInUse();
if ((await log?.flush(FLUSH_DEADLINE)) === false) endAtOnce(process.exitCode);
// A DNS lookup cannot be cancelled, so a resolver that never answers must not keep the process alive either.
if (log !== undefined) setTimeout(() => endAtOnce(process.exitCode, 'threads wait'), LINGER).unref();

/**
 * Sets the name of this process in `top`, `ss -p` and messages about a used port. `process.title` is not used because it would
 * overwrite the command line, by which `ps` and `pgrep -f` find a site.
 */
function nameProcess(): void {
  try {
    writeFileSync('/proc/self/comm', 'earshot');
  } catch {
    // Only Linux has this file.
  }
}
