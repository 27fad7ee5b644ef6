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
