/** Rules for fields that several kinds have. */
import { errorIn, type ResourceProblem } from '../problem.ts';
import type { ResourceKey } from '../resources.ts';
import { isHost, isReservedKey, RESERVED_KEYS } from '../../text/names.ts';
import { quoted } from '../../text/printable.ts';

/**
 * A routing key is the `:authority` of a request (RFC 9113 section 8.5) and a label of metrics. Routers do not announce longer keys
 * (`isRoutingKey`), so such a key would never find its other side.
 */
export function badKey(resource: ResourceKey, field: string, key: string): readonly ResourceProblem[] {
  if (isReservedKey(key)) {
    const message = `${quoted(key)} begins with ${RESERVED_KEYS}, which is reserved for the system; use another routing key.`;
    return [errorIn(resource, field, 'routing-key-reserved', message)];
  }
  if (/^[!-~]{1,253}$/.test(key)) return [];
  const message = `${quoted(key)} cannot be a routing key; use 1 to 253 printable ASCII characters without spaces.`;
  return [errorIn(resource, field, 'routing-key', message)];
}

export function badPort(resource: ResourceKey, field: string, port: number): readonly ResourceProblem[] {
  if (Number.isInteger(port) && port >= 1 && port <= 65_535) return [];
  return [errorIn(resource, field, 'port', `${port} is not a port; use 1 to 65535.`)];
}

/** Says why a text is not a host, and suggests what was likely meant. */
export function notAHost(text: string): string {
  const what = `${quoted(text)} is neither a host name nor an address`;
  const bare = text.replace(/^[a-z][a-z0-9+.-]*:\/\//i, '').replace(/\/.*$/, '');
  const [, inBrackets, behind] = /^\[([^\]]*)\](:\d+)?$/.exec(bare) ?? [];
  const [, name, port] = /^([^:]+):(\d+)$/.exec(bare) ?? [];
  const host = inBrackets ?? name ?? bare;
  if (host === text || !isHost(host)) return what;
  return `${what}; write ${host}${(behind ?? port) === undefined ? '' : ', and the port in its own field'}`;
}

/** Parses the port of an endpoint, which is text. */
export function parsePort(text: string): number | undefined {
  if (!/^\d{1,5}$/.test(text)) return undefined;
  const port = Number(text);
  return port >= 1 && port <= 65_535 ? port : undefined;
}

export function badType(resource: ResourceKey, type: string | undefined): readonly ResourceProblem[] {
  if (!isGiven(type) || type === 'tcp') return [];
  return [errorIn(resource, 'spec.type', 'type', `${quoted(type)} is not supported; use tcp.`)];
}

/** Whether a host stands for all addresses. */
export function isWildcard(host: string | undefined): host is undefined | '' | '0.0.0.0' | '::' {
  return !isGiven(host) || host === '0.0.0.0' || host === '::';
}

/** An omitted text and an empty one are the same. */
export function isGiven(text: string | undefined | null): text is string {
  return text !== undefined && text !== null && text !== '';
}
