/**
 * The routing keys of single pods, as the leading router tells them in ConfigMap `NETWORK_STATUS`.
 * @param text JSON
 * @returns undefined where nobody knows them: no list was written yet, or it cannot be read
 */
export function podKeysIn(text: string | undefined): readonly string[] | undefined {
  try {
    const keys: unknown = JSON.parse(text ?? '');
    return Array.isArray(keys) ? keys.filter((key) => typeof key === 'string') : undefined;
  } catch {
    return undefined;
  }
}
