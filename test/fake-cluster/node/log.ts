/** Stands for `src/telemetry/log.ts`: lines go to the history of the cluster. */
import { surroundings } from '../../simulate/current.ts';
import { cluster } from '../current.ts';

type Fields = Readonly<Record<string, unknown>>;

class Log {
  info(fields: Fields | string, message?: string): void {
    this.#say('info', fields, message);
  }

  warn(fields: Fields | string, message?: string): void {
    this.#say('warn', fields, message);
  }

  error(fields: Fields | string, message?: string): void {
    this.#say('error', fields, message);
  }

  fatal(fields: Fields | string, message?: string): void {
    this.#say('fatal', fields, message);
  }

  debug(): void {}

  trace(): void {}

  isLevelEnabled(): boolean {
    return false;
  }

  child(): this {
    return this;
  }

  #say(level: string, fields: Fields | string, message = ''): void {
    const { owner } = surroundings().loop;
    const error = typeof fields === 'string' ? undefined : fields['error'];
    const said = typeof fields === 'string' ? fields : message;
    cluster().log(owner?.name ?? '-', `${level} ${said}${error instanceof Error ? `: ${error.message}` : ''}`);
  }
}

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export const createLogger = (): Log => new Log();

export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${messageOf(error.cause)}` : error.message;
}
