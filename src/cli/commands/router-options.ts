/** Options of commands that run a router. */
import { InvalidArgumentError, Option } from 'commander';
import { byteSize } from '../../text/byte-size.ts';
import { duration } from './options.ts';

/** @param seconds default in seconds */
export function drainOption(seconds: number): Option {
  return new Option('--drain-timeout <duration>', 'time for open connections to end after SIGTERM')
    .argParser(drainTime)
    .default(seconds * 1000, `${seconds}s`);
}

export function memoryOption(): Option {
  const usual = 'memory of the machine, or limit of its control group';
  return new Option('--memory <size>', `memory limit of the process, such as 512Mi (default: ${usual})`).argParser(memory);
}

export function recordsOption(): Option {
  const what = 'number of ended and failed connections to keep for the router API; 0 for no records, of open ones either';
  return new Option('--records <number>', what).argParser(records).default(DEFAULT_RECORDS);
}

function records(text: string): number {
  const number = /^\d{1,6}$/.test(text) ? Number(text) : Infinity;
  if (number > MOST_RECORDS) throw new InvalidArgumentError(`It must be a number from 0 to ${MOST_RECORDS}.`);
  return number;
}

function memory(text: string): number {
  const bytes = byteSize(text);
  if (bytes === undefined || bytes < LEAST_MEMORY)
    throw new InvalidArgumentError('It must be a size such as 512Mi or 2Gi, at least 128Mi.');
  return bytes;
}

function drainTime(text: string): number {
  if (/^0s?$/.test(text)) return 0;
  const milliseconds = duration(text);
  if (milliseconds > 86_400_000) throw new InvalidArgumentError('It must be at most one day.');
  return milliseconds;
}

/** Minimum memory of a router in bytes. A router does not run with less. */
const LEAST_MEMORY = 128 << 20;

/** A record takes about 160 bytes. */
const DEFAULT_RECORDS = 16_384;
const MOST_RECORDS = 262_144;
