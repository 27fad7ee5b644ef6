import { isIP } from 'node:net';

/** Where a socket listens, or what it connects to. */
export interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** `host:port`, with brackets around an IPv6 address. */
export const hostPort = ({ host, port }: HostPort): string => (isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`);
