/** Endpoints that a site announces over its links: see `docs/protocol.md`, section 6. */
import { isRecord } from '../../../text/is-record.ts';
import { isHost } from '../../../text/names.ts';
import { isOneLine } from '../../../text/printable.ts';
import type { GroupEndpoint } from '../../contract.ts';
import { ENDPOINTS } from '../../wire.ts';
import { LinkError } from '../link-errors.ts';
import { messageOfType } from './framing.ts';
import { limitTable } from '../../../limits/table.ts';

/** Same limit as for the endpoints of a Link. */
export const MOST_ENDPOINTS = limitTable.announcedEndpoints.value;

export function writeEndpoints(endpoints: readonly GroupEndpoint[]): Buffer {
  const announced = endpoints
    .slice(0, MOST_ENDPOINTS)
    .map(({ host, port, group }) => ({ host, port, ...(group === undefined ? {} : { group }) }));
  return messageOfType(ENDPOINTS, Buffer.from(JSON.stringify({ endpoints: announced })));
}

/** Skips invalid endpoints. @throws LinkError if the message is invalid */
export function readEndpoints(message: Buffer): readonly GroupEndpoint[] {
  const value = parsed(message.subarray(1));
  const endpoints: unknown = isRecord(value) ? value['endpoints'] : undefined;
  if (!Array.isArray(endpoints)) throw new LinkError('protocol', 'The peer sent invalid endpoints.');
  return endpoints.slice(0, MOST_ENDPOINTS).flatMap((endpoint: unknown) => endpointIn(endpoint) ?? []);
}

function endpointIn(value: unknown): GroupEndpoint | undefined {
  if (!isRecord(value)) return undefined;
  const { host, port, group } = value;
  if (typeof host !== 'string' || !isHost(host)) return undefined;
  if (typeof port !== 'number' || !Number.isInteger(port) || port < 1 || port > 65_535) return undefined;
  const isGroup = typeof group === 'string' && group.length <= 253 && isOneLine(group);
  return { host, port, ...(isGroup ? { group } : {}) };
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return undefined;
  }
}
