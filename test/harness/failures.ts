import { readFileSync } from 'node:fs';

/** Errors of the test environment; never thrown for the tested program. */
export class HarnessError extends Error {
  readonly code: 'COMPONENT_FAILED' | 'COMMAND_FAILED' | 'TIMED_OUT' | 'CLUSTER_RUNS' | 'NO_CLUSTER' | 'NOT_POSSIBLE_HERE' | 'API_REFUSED';

  constructor(code: HarnessError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'HarnessError';
    this.code = code;
  }
}

/** Why a component did not come up: its name, what was seen, and the end of its log with the place of the rest. */
export function componentFailed(component: string, why: string, log: string): HarnessError {
  return new HarnessError('COMPONENT_FAILED', `${component} ${why}\nEnd of its log (all of it: ${log}):\n${tail(log, 25)}`);
}

function tail(file: string, lines: number): string {
  try {
    return readFileSync(file, 'utf8')
      .trimEnd()
      .split('\n')
      .slice(-lines)
      .map((line) => `  ${line.slice(0, 400)}`)
      .join('\n');
  } catch {
    return '  (no log)';
  }
}
