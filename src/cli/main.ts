#!/usr/bin/env node
import { CommanderError } from 'commander';
import { destinationInUse } from '../telemetry/log-destination.ts';
import { messageOf } from '../telemetry/log.ts';
import { exitCodeOf, exitCodes } from './errors.ts';
import { nameProcess } from './processes/name-process.ts';
import { buildProgram } from './program.ts';
import { endAtOnce } from './processes/signals.ts';
import { processTerminal } from './output/terminal.ts';

// Whoever read the output has seen enough, as in `earshot status | head`. The code is what a shell gives for SIGPIPE.
process.stdout.on('error', (error) => {
  // Nobody reads the log of something that serves others: it goes on.
  if (destinationInUse() !== undefined) return;
  if (!('code' in error) || error.code !== 'EPIPE') throw error;
  process.exit(141);
});

nameProcess();

/** Milliseconds. */
const FLUSH_DEADLINE = 500;
/** Milliseconds until what is over ends, also where a thread waits for the system still. */
const LINGER = 500;

try {
  await buildProgram(processTerminal).parseAsync();
} catch (error) {
  // Commander has printed its own words already.
  if (!(error instanceof CommanderError)) process.stderr.write(`earshot: ${messageOf(error)}\n`);
  process.exitCode = error instanceof CommanderError ? (error.exitCode === 0 ? 0 : exitCodes.usage) : exitCodeOf(error);
}

// A log that nobody takes must not keep the process: neither what waits, nor a write that does not come back.
const log = destinationInUse();
if ((await log?.flush(FLUSH_DEADLINE)) === false) endAtOnce(process.exitCode);
// Nor must a name that others chose, whose resolver says nothing: a lookup cannot be ended.
if (log !== undefined) setTimeout(() => endAtOnce(process.exitCode, 'threads wait'), LINGER).unref();
