/** Options of commands that run a router. */
import { InvalidArgumentError, Option } from 'commander';
import { byteSize } from '../../text/byte-size.ts';
import { duration } from './options.ts';

/** @param seconds default in seconds */
export function drainOption(seconds: number): Option {
  return new Option('--drain-timeout <duration>', 'how long open connections may go on after SIGTERM')
    .argParser(drainTime)
    .default(seconds * 1000, `${seconds}s`);
}

export function memoryOption(): Option {
  const usual = 'what the machine has, or its control group allows';
  return new Option('--memory <size>', `what the process may use, such as 512Mi; left out: ${usual}`).argParser(memory);
}

function memory(text: string): number {
  const bytes = byteSize(text);
  if (bytes === undefined || bytes < LEAST_MEMORY) throw new InvalidArgumentError('It must be a size like 512Mi or 2Gi, 128Mi at least.');
  return bytes;
}

function drainTime(text: string): number {
  if (/^0s?$/.test(text)) return 0;
  const milliseconds = duration(text);
  if (milliseconds > 86_400_000) throw new InvalidArgumentError('It must be a day at most.');
  return milliseconds;
}

/** Minimum memory of a router in bytes. A router does not run with less. */
const LEAST_MEMORY = 128 << 20;
