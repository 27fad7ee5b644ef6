/** Endpoints of a site, which the controller has written into its status (pure). */
import { EDGE, INTER_ROUTER } from '../../api/skupper/names.ts';
import type { SiteEndpoint } from '../../router/contract.ts';
import { parsePort } from '../../site/plan/fields.ts';
import { isRecord } from '../../text/is-record.ts';
import { isHost } from '../../text/names.ts';

export function endpointsIn(status: unknown): readonly SiteEndpoint[] {
  const endpoints = isRecord(status) ? status['endpoints'] : undefined;
  return Array.isArray(endpoints) ? endpoints.flatMap((endpoint: unknown) => endpointIn(endpoint) ?? []) : [];
}

function endpointIn(value: unknown): SiteEndpoint | undefined {
  if (!isRecord(value)) return undefined;
  const { name: role, host, port, group } = value;
  const number = typeof port === 'string' ? parsePort(port) : undefined;
  if ((role !== INTER_ROUTER && role !== EDGE) || typeof host !== 'string' || !isHost(host) || number === undefined) return undefined;
  return { role, host, port: number, ...(typeof group === 'string' ? { group } : {}) };
}
