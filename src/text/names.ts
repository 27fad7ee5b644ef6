/** Syntax of names. Each pattern is defined once, here; the code that uses a name defines its meaning. */
import { isIP } from 'node:net';

/** RFC 1123 label: a Kubernetes namespace, a router within its site, a pod's UID. */
export function isLabel(text: string): boolean {
  return LABEL.test(text);
}

/** RFC 1035 label: a Kubernetes Service. */
export function isServiceName(text: string): boolean {
  return SERVICE_NAME.test(text);
}

/**
 * RFC 1123 subdomain: labels separated by dots, 253 characters at most. Like Kubernetes for names of objects, it does not limit
 * the length of each label.
 */
export function isResourceName(text: string): boolean {
  return text.length <= 253 && SUBDOMAIN.test(text);
}

/** Name of a site, which must fit into the common name of a certificate (RFC 5280, ub-common-name). */
export function isSiteName(text: string): boolean {
  return text.length <= 64 && isResourceName(text);
}

/** Truncates text to the length of a common name. Command lines put all hosts of a site there, separated by commas. */
export function asCommonName(text: string): string {
  return text.slice(0, 64).toWellFormed();
}

/** Name of a grant, which becomes a file name with an extension and part of a URL. */
export function isGrantName(text: string): boolean {
  return text.length <= 200 && isResourceName(text);
}

/** A DNS name. RFC 1123 forbids underscores in host names, but DNS allows them and some services use them. */
export function isHostName(text: string): boolean {
  return text.length <= (text.endsWith('.') ? 254 : 253) && HOST_NAME.test(text);
}

/** A host to listen on or connect to: a name, or an IP address with or without a zone. */
export function isHost(text: string | undefined): text is string {
  return text !== undefined && (isIP(text) !== 0 || isHostName(text));
}

/** A UUID of any version in lower case. `isSiteId` accepts only those derived from a key. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/** The UUID of version 8 that is derived from an Ed25519 key, see `siteIdOf`. */
export function isSiteId(text: string): boolean {
  return SITE_ID.test(text);
}

/** Whether a routing key is reserved for the system. Users cannot use it anywhere. */
export function isReservedKey(text: string): boolean {
  return text.startsWith(RESERVED_KEYS);
}

/** Prefix of reserved routing keys. */
export const RESERVED_KEYS = 'earshot:';

const LABEL = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;
const SERVICE_NAME = /^[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?$/;
const SUBDOMAIN = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;
const HOST_NAME = /^[a-z0-9_](?:[-a-z0-9_]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[-a-z0-9_]{0,61}[a-z0-9_])?)*\.?$/i;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const SITE_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
