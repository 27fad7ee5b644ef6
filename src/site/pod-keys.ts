/**
 * The routing keys of single pods, as the leading router tells them in ConfigMap `NETWORK_STATUS`: what is no such list is none.
 * @param text JSON
 */
export function podKeysIn(text: string | undefined): readonly string[] {
  try {
    const keys: unknown = JSON.parse(text ?? '[]');
    return Array.isArray(keys) ? keys.filter((key) => typeof key === 'string') : [];
  } catch {
    return [];
  }
}
