import { isIP } from 'node:net';

/** Address of a listening socket or a destination. */
export interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** Formats `host:port`, with brackets around an IPv6 address. */
export const hostPort = ({ host, port }: HostPort): string => (isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`);
