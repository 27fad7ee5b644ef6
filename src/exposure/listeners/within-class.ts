/**
 * Restricts a Listener's override according to `objectOverridesPolicy: WithinClass`. Pure, and safe with any JSON. It lists
 * allowed fields, so new fields of a later Kubernetes are denied until they are reviewed. Allowed fields change neither from
 * where nor through what pods are reached. Not allowed are addresses, load balancers, their annotations and labels, node ports,
 * external traffic policies and the selector.
 */
import { isDeepStrictEqual } from 'node:util';
import { isRecord } from '../../text/is-record.ts';
import { fieldPath } from '../../text/field-path.ts';
import type { Fields, Report } from './service-merge.ts';

/** @param around.service the Service without this override */
export function withinClass(
  override: Fields,
  around: { readonly service: Fields; readonly classOverrides: unknown },
  report: Report,
): Fields {
  const setByClass = recordAt(around.classOverrides, 'spec');
  const isFree = (field: string): boolean => freeFields.has(field) && !Object.hasOwn(setByClass, field);
  const kept = only(override, '', around.service, (field) => field === 'metadata' || field === 'spec', report);
  const { metadata, spec } = kept;
  return {
    ...kept,
    ...(isRecord(metadata) ? { metadata: metadataWithin(metadata, recordAt(around.service, 'metadata'), report) } : {}),
    ...(isRecord(spec) ? { spec: specWithin(spec, recordAt(around.service, 'spec'), isFree, report) } : {}),
  };
}

const freeFields: ReadonlySet<string> = new Set([
  'ports',
  'publishNotReadyAddresses',
  'sessionAffinity',
  'sessionAffinityConfig',
  'internalTrafficPolicy',
  'trafficDistribution',
]);
const freePortFields: ReadonlySet<string> = new Set(['port', 'protocol', 'name', 'appProtocol', 'targetPort']);

const REFUSED = 'is decided by the ListenerClass (its objectOverridesPolicy is WithinClass); it is ignored.';

function metadataWithin(metadata: Fields, before: Fields, report: Report): Fields {
  const kept = only(metadata, 'metadata', before, (field) => isRecord(metadata[field]) && isRecord(before[field]), report);
  return mapFields(kept, (field, map) =>
    isRecord(map) ? only(map, `metadata.${field}`, recordAt(before, field), () => false, report) : map,
  );
}

function specWithin(spec: Fields, before: Fields, isFree: (field: string) => boolean, report: Report): Fields {
  const kept = only(spec, 'spec', before, isFree, report);
  return mapFields(kept, (field, value) => (field === 'ports' && Array.isArray(value) ? portsWithin(value, before, report) : value));
}

function portsWithin(ports: readonly unknown[], before: Fields, report: Report): readonly unknown[] {
  const present = Array.isArray(before['ports']) ? before['ports'].filter(isRecord) : [];
  return ports.map((port, index) => {
    if (!isRecord(port)) return port;
    const same = present.find((other) => other['port'] === port['port'] && (other['protocol'] ?? 'TCP') === (port['protocol'] ?? 'TCP'));
    return only(port, `spec.ports[${index}]`, same ?? {}, (field) => freePortFields.has(field), report);
  });
}

/** Drops fields that are not allowed. Values equal to the current ones are not reported, because programs write whole objects. */
function only(part: Fields, at: string, before: Fields, isFree: (field: string) => boolean, report: Report): Fields {
  return Object.fromEntries(
    Object.entries(part).filter(([field, value]) => {
      if (isFree(field)) return true;
      const standing = Object.hasOwn(before, field) ? before[field] : undefined;
      const isSame = isDeepStrictEqual(value, standing) || (isNothing(value) && isNothing(standing));
      if (!isSame) report(fieldPath(at, field), REFUSED);
      return false;
    }),
  );
}

function isNothing(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === 'object' && Object.keys(value).length === 0);
}

function mapFields(of: Fields, change: (field: string, value: unknown) => unknown): Fields {
  return Object.fromEntries(Object.entries(of).map(([field, value]) => [field, change(field, value)]));
}

function recordAt(value: unknown, field: string): Fields {
  const found = isRecord(value) && Object.hasOwn(value, field) ? value[field] : undefined;
  return isRecord(found) ? found : {};
}
