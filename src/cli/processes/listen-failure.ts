import { codeOf } from '../../files/errno.ts';
import { portOwner } from '../../router/local/port-owner.ts';
import { CliError } from '../errors.ts';

export interface ListenAttempt {
  /** Undefined for all addresses. */
  readonly host?: string | undefined;
  readonly port: number;
  /** Option that chooses the port. */
  readonly option: string;
}

/** Converts an error of listening to one with a remedy. Returns other errors as they are. */
export function listenFailure(error: unknown, { host, port, option }: ListenAttempt): unknown {
  const where = `Cannot listen on ${host === undefined ? `port ${port}` : `${host}:${port}`}`;
  switch (codeOf(error)) {
    case 'EADDRINUSE': {
      const owner = portOwner(port) ?? 'another process';
      return new CliError('failed', `${where}: the port is in use by ${owner}. Choose another with ${option}.`, error);
    }
    case 'EACCES':
      return new CliError('failed', `${where}: this user may not. Choose a port from 1024 with ${option}.`, error);
    default:
      return error;
  }
}
