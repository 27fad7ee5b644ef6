import { isIP } from 'node:net';

/** Address of a listening socket or a destination. */
export interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** Formats `host:port`, with brackets around an IPv6 address (RFC 3986 section 3.2.2). A port of a resource may be text. */
export const hostPort = ({ host, port }: { readonly host: string; readonly port: number | string }): string =>
  isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`;
