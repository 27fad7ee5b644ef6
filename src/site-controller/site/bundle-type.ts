const TYPES: ReadonlySet<string> = new Set(['kubernetes.io/tls', 'kubernetes.io/basic-auth', 'Opaque']);

/**
 * Whether a Secret of this type can hold what a router reads. An undefined type is not known yet. Tokens and registry passwords are
 * excluded.
 */
export function isBundleType(type: string | undefined): boolean {
  return type === undefined || TYPES.has(type);
}
