import { isIP, isIPv4 } from 'node:net';
import { contextBytes, sequence } from './der-writer.ts';
import { TrustError } from '../trust/errors.ts';
import { groupsOf } from './ipv6.ts';

/** The content of the extension `subjectAltName` (RFC 5280 section 4.2.1.6); undefined where there is no name. */
export function alternativeNames(hosts: readonly string[], siteId: string | undefined): Buffer | undefined {
  const names = [...new Set(hosts)].map(hostName);
  if (siteId !== undefined) names.push(contextBytes(6, Buffer.from(siteUri(siteId), 'latin1')));
  return names.length === 0 ? undefined : sequence(...names);
}

export const siteUri = (siteId: string): string => `urn:uuid:${siteId}`;

function hostName(host: string): Buffer {
  if (isIP(host) !== 0) return contextBytes(7, addressBytes(host));
  const name = host.endsWith('.') ? host.slice(0, -1) : host;
  if (name.length > 253 || !DNS_NAME.test(name)) {
    throw new TrustError(
      'bad-argument',
      `host ${JSON.stringify(host.slice(0, 260))} is neither an IP address nor a DNS name that a certificate can hold`,
    );
  }
  return contextBytes(2, Buffer.from(name.toLowerCase(), 'latin1'));
}

/** Underscores are no host names, but DNS has them and services bear them. */
const DNS_NAME = /^(?:\*\.)?[a-z0-9_](?:[-a-z0-9_]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[-a-z0-9_]{0,61}[a-z0-9_])?)*$/i;

function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number));
  if (address.includes('%')) {
    throw new TrustError('bad-argument', `host ${address} has a zone: it holds on one machine only, so a certificate cannot name it`);
  }
  return Buffer.from(
    groupsOf(address)
      .map((group) => group.padStart(4, '0'))
      .join(''),
    'hex',
  );
}
