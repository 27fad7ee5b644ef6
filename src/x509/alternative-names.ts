import { isIP, isIPv4 } from 'node:net';
import { contextBytes, sequence } from './der-writer.ts';
import { CertificateError } from './errors.ts';
import { quoted } from '../text/printable.ts';
import { isHostName } from '../text/names.ts';

/** Encodes the content of the extension `subjectAltName` (RFC 5280 section 4.2.1.6); undefined without names. */
export function alternativeNames(hosts: readonly string[], uris: readonly string[]): Buffer | undefined {
  const names = [...[...new Set(hosts)].map(hostName), ...uris.map((uri) => contextBytes(6, Buffer.from(uri, 'latin1')))];
  return names.length === 0 ? undefined : sequence(...names);
}

/**
 * Whether a certificate issued by Earshot can contain the name. Other certificates contain arbitrary text, and Skupper's an empty name if
 * there is no host.
 */
export function canHold(host: string): boolean {
  return isIP(host) === 0 ? isDnsName(withoutDot(host)) : !host.includes('%');
}

/** Whether a certificate's names include all hosts, regardless of notation. */
export function namesAll(names: readonly string[], hosts: readonly string[]): boolean {
  const known = new Set(names.map(canonical));
  return hosts.every((host) => known.has(canonical(host)));
}

/** Normalizes the notations of an address, and a trailing dot of a name. */
function canonical(host: string): string {
  if (!host.includes(':')) return host.toLowerCase().replace(/\.$/, '');
  try {
    return new URL(`http://[${host}]/`).hostname;
  } catch {
    return host.toLowerCase();
  }
}

function hostName(host: string): Buffer {
  if (isIP(host) !== 0) return contextBytes(7, addressBytes(host));
  const name = withoutDot(host);
  if (!isDnsName(name)) {
    throw new CertificateError(
      'bad-argument',
      `host ${quoted(host, 260)} is neither an IP address nor a DNS name that a certificate can hold`,
    );
  }
  return contextBytes(2, Buffer.from(name.toLowerCase(), 'latin1'));
}

const withoutDot = (host: string): string => (host.endsWith('.') ? host.slice(0, -1) : host);

function isDnsName(name: string): boolean {
  return name.length <= 253 && !name.endsWith('.') && isHostName(name.replace(/^\*\./, ''));
}

function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number));
  if (address.includes('%')) {
    throw new CertificateError(
      'bad-argument',
      `host ${address} has a zone: it is valid on one machine only, so a certificate cannot contain it`,
    );
  }
  return Buffer.from(
    groupsOf(address)
      .map((group) => group.padStart(4, '0'))
      .join(''),
    'hex',
  );
}

/** Returns the eight groups of an IPv6 address without zone, in hexadecimal without leading zeros. */
export function groupsOf(address: string): readonly string[] {
  // The URL parser converts every form, even the dotted one, to hexadecimal groups with at most one `::`.
  const [left = '', right] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const head = left === '' ? [] : left.split(':');
  const tail = right === undefined || right === '' ? [] : right.split(':');
  return [...head, ...Array.from({ length: 8 - head.length - tail.length }, () => '0'), ...tail];
}
