/**
 * Resources without what is secret in them. What is kept is chosen, not what is taken away: fields of the schema whose format
 * is no `password`, and nothing that the schema does not know.
 */
import type { Structural } from '../../api/crd.ts';
import { specShapes } from '../../api/generated/spec-shapes.ts';
import { isSkupperKind } from '../../api/skupper/validate.ts';
import { isRecord } from '../../text/is-record.ts';

export const HIDDEN = '(hidden)';

/** @returns what may be shown of it; of anything that is no resource, its type */
export function redacted(value: unknown): unknown {
  if (!isRecord(value)) return `(${value === null ? 'null' : typeof value}, hidden)`;
  const { apiVersion, kind, metadata, spec, status } = value;
  const head = {
    apiVersion: textOf(apiVersion),
    kind: textOf(kind),
    metadata: isRecord(metadata) ? { name: textOf(metadata['name']), namespace: textOf(metadata['namespace']) } : HIDDEN,
  };
  // Of a Secret only that it is there, and which keys it has.
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

/** A status is the system's own; its one secret is a grant's code. */
function withoutSecrets(status: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return 'code' in status ? { ...status, code: HIDDEN } : status;
}

/** Of several resources: the values of fields that are secret, to look for them elsewhere. */
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

/** The last line of defence, for texts that are not resources: none of the secrets that are known, and no private key, stays. */
export function scrubbed(text: string, secrets: readonly string[]): string {
  const withoutKeys = text.replaceAll(/-----BEGIN [A-Z ]*PRIVATE KEY-----[^]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g, HIDDEN);
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, HIDDEN), withoutKeys);
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
