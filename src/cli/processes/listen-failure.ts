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

/** Milliseconds for finding the process that holds a port. The command is about to end, so it delays nothing else. */
const SEARCH_TIME = 2_000;

/** Converts an error of listening to one with a remedy. Returns other errors as they are. */
export function listenFailure(error: unknown, { host, port, option }: ListenAttempt): unknown {
  const where = `Cannot listen on ${host === undefined ? `port ${port}` : `${host}:${port}`}`;
  switch (codeOf(error)) {
    case 'EADDRINUSE': {
      const owner = portOwner(port, '/proc', SEARCH_TIME) ?? 'another process';
      return new CliError('failed', `${where}: the port is in use by ${owner}. Choose another with ${option}.`);
    }
    case 'EACCES':
      return new CliError('failed', `${where}: this user may not. Choose a port from 1024 with ${option}.`);
    default:
      return error;
  }
}
