/** What may be called what. Each pattern of a name is here once; what a name means is said where it is used. */
import { isIP } from 'node:net';

/** RFC 1123 label: a namespace of Kubernetes, a router within its site, a pod's uid. */
export function isLabel(text: string): boolean {
  return LABEL.test(text);
}

/** RFC 1035 label: a Service of Kubernetes. */
export function isServiceName(text: string): boolean {
  return SERVICE_NAME.test(text);
}

/**
 * RFC 1123 subdomain: labels with dots between them, of 253 characters at most. Like Kubernetes, which has it for the names of
 * objects, this does not count the characters of each label.
 */
export function isResourceName(text: string): boolean {
  return text.length <= 253 && SUBDOMAIN.test(text);
}

/** A site's name as a certificate holds it: its common name has no room for more (RFC 5280, ub-common-name). */
export function isSiteName(text: string): boolean {
  return text.length <= 64 && isResourceName(text);
}

/** As much of it as a certificate has room for; command lines write all hosts of a site there, with commas between. */
export function asCommonName(text: string): string {
  return text.slice(0, 64).toWellFormed();
}

/** A grant's name becomes a file's, with an ending, and part of a URL. */
export function isGrantName(text: string): boolean {
  return text.length <= 200 && isResourceName(text);
}

/** A name of DNS. Underscores are in no host's name by RFC 1123, but DNS has them and services bear them. */
export function isHostName(text: string): boolean {
  return text.length <= (text.endsWith('.') ? 254 : 253) && HOST_NAME.test(text);
}

/** What can be listened on or connected to: a name, or an IP address, also one with a zone. */
export function isHost(text: string | undefined): text is string {
  return text !== undefined && (isIP(text) !== 0 || isHostName(text));
}

/** In lower case, of any version. Where only what comes of a key counts as a site's id: `isSiteId`. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/** The UUID of version 8 that an Ed25519 key is told by, see `siteIdOf`. */
export function isSiteId(text: string): boolean {
  return SITE_ID.test(text);
}

/** A routing key of the system's own: users get none, wherever they are. */
export function isReservedKey(text: string): boolean {
  return text.startsWith(RESERVED_KEYS);
}

/** How they begin. */
export const RESERVED_KEYS = 'earshot:';

const LABEL = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;
const SERVICE_NAME = /^[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?$/;
const SUBDOMAIN = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;
const HOST_NAME = /^[a-z0-9_](?:[-a-z0-9_]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[-a-z0-9_]{0,61}[a-z0-9_])?)*\.?$/i;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const SITE_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
