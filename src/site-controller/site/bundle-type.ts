const TYPES: ReadonlySet<string> = new Set(['kubernetes.io/tls', 'kubernetes.io/basic-auth', 'Opaque']);

/** Whether a Secret of this type can hold what a router reads. Left out: the type is not known yet. A token or the password of a registry is none. */
export function isBundleType(type: string | undefined): boolean {
  return type === undefined || TYPES.has(type);
}
