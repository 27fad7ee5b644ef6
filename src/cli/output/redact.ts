/**
 * Removes secrets from resources. It uses an allow-list: only fields of the schema whose format is not `password` are kept.
 * Unknown fields are dropped.
 */
import type { Structural } from '../../api/crd.ts';
import { specShapes } from '../../api/generated/spec-shapes.ts';
import { isSkupperKind } from '../../api/skupper/validate.ts';
import { isRecord } from '../../text/is-record.ts';

export const HIDDEN = '(hidden)';

/** @returns the fields that may be shown; for anything that is not a resource, its type */
export function redacted(value: unknown): unknown {
  if (!isRecord(value)) return `(${value === null ? 'null' : typeof value}, hidden)`;
  const { apiVersion, kind, metadata, spec, status } = value;
  const head = {
    apiVersion: textOf(apiVersion),
    kind: textOf(kind),
    metadata: isRecord(metadata) ? { name: textOf(metadata['name']), namespace: textOf(metadata['namespace']) } : HIDDEN,
  };
  // A Secret is reduced to its name and the names of its keys.
  if (typeof kind !== 'string' || !isSkupperKind(kind)) return { ...head, keys: isRecord(value['data']) ? Object.keys(value['data']) : [] };
  return {
    ...head,
    spec: shown(specShapes[kind], spec),
    ...(status === undefined ? {} : { status: isRecord(status) ? withoutSecrets(status) : HIDDEN }),
  };
}

function shown(shape: Structural, value: unknown): unknown {
  if (value === undefined || value === null) return value;
  if (shape.format === 'password') return HIDDEN;
  if (shape.properties !== undefined) {
    if (!isRecord(value)) return HIDDEN;
    const known = Object.entries(shape.properties).filter(([name]) => Object.hasOwn(value, name));
    return Object.fromEntries(known.map(([name, field]) => [name, shown(field, value[name])]));
  }
  if (shape.items !== undefined) return Array.isArray(value) ? value.map((item) => shown(shape.items ?? {}, item)) : HIDDEN;
  if (shape.additionalProperties !== undefined) {
    if (!isRecord(value)) return HIDDEN;
    return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, shown(shape.additionalProperties ?? {}, entry)]));
  }
  return typeof value === 'object' ? HIDDEN : value;
}

/** A status is written by the system. Its only secret is the code of a grant. */
function withoutSecrets(status: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return 'code' in status ? { ...status, code: HIDDEN } : status;
}

/** Returns the values of a resource's secret fields, to find them in other texts. */
export function secretsIn(value: unknown): readonly string[] {
  if (!isRecord(value)) return [];
  const codes = [value['spec'], value['status']].flatMap((part) =>
    isRecord(part) && typeof part['code'] === 'string' ? [part['code']] : [],
  );
  const data = [value['data'], value['stringData']]
    .flatMap((part) => (isRecord(part) ? Object.values(part) : []))
    .filter((entry) => typeof entry === 'string');
  return [...codes, ...data].filter((secret) => secret.length >= 4);
}

/** Last line of defence for texts that are not resources: removes all known secrets and every private key. */
export function scrubbed(text: string, secrets: readonly string[]): string {
  const withoutKeys = text.replaceAll(/-----BEGIN [A-Z ]*PRIVATE KEY-----[^]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g, HIDDEN);
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, HIDDEN), withoutKeys);
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
