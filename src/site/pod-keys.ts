/**
 * Parses the routing keys of single pods, which the leading router writes to ConfigMap `NETWORK_STATUS`.
 * @param text JSON
 * @returns undefined while they are unknown: the list is not written yet, or invalid
 */
export function podKeysIn(text: string | undefined): readonly string[] | undefined {
  try {
    const keys: unknown = JSON.parse(text ?? '');
    return Array.isArray(keys) ? keys.filter((key) => typeof key === 'string') : undefined;
  } catch {
    return undefined;
  }
}
