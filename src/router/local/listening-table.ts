import { closeSync, openSync, readSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import { endianness } from 'node:os';
import { join } from 'node:path';
import { groupsOf } from '../../x509/alternative-names.ts';
import type { HostPort } from '../../text/host-port.ts';

/** Used in place of a host for all addresses, including IPv6 if the system has it. */
export const EVERYWHERE = '';

/** RFC 793's LISTEN as the kernel numbers it (include/net/tcp_states.h). */
const LISTEN = '0A';
const CHUNK_BYTES = 64 * 1024;
/** Maximum number of bytes to read: more than any machine's listening sockets need. */
const MOST_BYTES = 4 * 1024 * 1024;
const LITTLE_ENDIAN = endianness() === 'LE';

/** A listening TCP socket. */
export interface ListeningRow extends HostPort {
  readonly inode: string;
  readonly uid: string;
}

/** Returns all listening TCP sockets of this network namespace; none without procfs. @param proc mount point of procfs */
export function readListeningTable(proc = '/proc'): readonly ListeningRow[] {
  return ['net/tcp', 'net/tcp6'].flatMap((table) => parseListeningTable(readListenRows(join(proc, table))));
}

/**
 * Parses rows of /proc/net/tcp: `sl local_address rem_address st … uid … inode`, address and port in hex
 * (Documentation/networking/proc_net_tcp).
 */
export function parseListeningTable(table: string): readonly ListeningRow[] {
  return table
    .split('\n')
    .slice(1)
    .flatMap((row) => {
      const fields = row.trim().split(/\s+/);
      const [local, state, uid, inode] = [fields[1], fields[3], fields[7], fields[9]];
      if (local === undefined || state !== LISTEN || uid === undefined || inode === undefined) return [];
      const [address = '', port = ''] = local.split(':');
      return [{ host: addressOf(address), port: Number.parseInt(port, 16), inode, uid }];
    });
}

/**
 * Whether listening at the address would fail because of that socket. A socket at `::` counts for both families, since the table does not
 * show IPV6_V6ONLY.
 */
export function isConflict({ host, port }: HostPort, row: HostPort): boolean {
  if (row.port !== port) return false;
  const [own, other] = [host, row.host].map(canonical);
  if (own === ANY_IPV6 || other === ANY_IPV6 || own === other) return true;
  const isIpv4 = (address: string | undefined): boolean => address?.includes('.') === true;
  return (own === ANY_IPV4 && isIpv4(other)) || (other === ANY_IPV4 && isIpv4(own));
}

const ANY_IPV4 = '0.0.0.0';
const ANY_IPV6 = '::';

/**
 * Reads until the first row that is not listening. The kernel lists listening sockets first, and there may be thousands of connections.
 */
function readListenRows(path: string): string {
  let file: number | undefined;
  try {
    file = openSync(path, 'r');
    const chunk = Buffer.alloc(CHUNK_BYTES);
    let text = '';
    while (text.length < MOST_BYTES) {
      const length = readSync(file, chunk);
      if (length === 0) break;
      text += chunk.toString('latin1', 0, length);
      const lastRow = text.slice(0, text.lastIndexOf('\n')).split('\n').at(-1) ?? '';
      if (!lastRow.includes(` ${LISTEN} `) && !lastRow.includes('local_address')) break;
    }
    return text;
  } catch {
    return '';
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** Formats an address. The kernel prints each 32 bits of it as a number in the machine's byte order. */
function addressOf(hex: string): string {
  const words = hex.match(/.{8}/g) ?? [];
  const bytes = words.flatMap((word) => {
    const pairs = word.match(/../g) ?? [];
    return LITTLE_ENDIAN ? pairs.toReversed() : pairs;
  });
  if (bytes.length === 4) return bytes.map((byte) => Number.parseInt(byte, 16)).join('.');
  return canonical((bytes.join('').match(/.{4}/g) ?? []).join(':'));
}

/** Returns the canonical form of an address, without a zone. An IPv4-mapped address becomes the IPv4 address. */
function canonical(host: string): string {
  if (host === EVERYWHERE) return ANY_IPV6;
  const [address = ''] = host.split('%');
  if (!isIPv6(address)) return address;
  const groups = groupsOf(address).map((group) => Number.parseInt(group, 16));
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (isMapped)
    return groups
      .slice(6)
      .map((group) => `${group >> 8}.${group & 0xff}`)
      .join('.');
  return groups.every((group) => group === 0) ? ANY_IPV6 : groupsOf(address).join(':');
}
