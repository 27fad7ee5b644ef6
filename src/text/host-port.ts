import { isIP } from 'node:net';

/** Address of a listening socket or a destination. */
export interface HostPort {
  readonly host: string;
  readonly port: number;
}

/**
 * Formats `host:port`, with brackets around an IPv6 address (RFC 3986 section 3.2.2). A socket of both families shows IPv4 addresses as
 * mapped ones (RFC 4291 section 2.5.5.2), which no user has seen elsewhere. A port of a resource may be text.
 */
export function hostPort({ host, port }: { readonly host: string; readonly port: number | string }): string {
  const bare = host.replace(/^::ffff:(?=\d+\.)/, '');
  return isIP(bare) === 6 ? `[${bare}]:${port}` : `${bare}:${port}`;
}
