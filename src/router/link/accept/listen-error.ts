import { messageOf } from '../../../telemetry/log.ts';
import { hostPort } from '../../../text/host-port.ts';
import { printableAscii } from '../../../text/printable.ts';
import { LinkError } from '../link-errors.ts';
import { codeOf } from '../tls-errors.ts';

/** Converts an error of listening to one with a remedy. */
export function listenError(error: unknown, host: string | undefined, port: number): LinkError {
  const code = codeOf(error);
  const where = host === undefined ? `port ${port}` : hostPort({ host, port });
  switch (code) {
    case 'EADDRINUSE':
      return new LinkError(
        'port-in-use',
        `Other sites cannot link here: ${where} is in use, perhaps by the site of another namespace. Stop that program, or use a RouterAccess with other ports instead of linkAccess.`,
        error,
      );
    case 'EACCES':
      return new LinkError('port-not-permitted', `This user may not listen on ${where}. Choose a port from 1024, or permit it.`, error);
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return new LinkError('host-not-local', `${where} is not an address of this machine.`, error);
    default:
      return new LinkError('listen-failed', `Cannot listen on ${where}: ${printableAscii(messageOf(error))}.`, error);
  }
}
