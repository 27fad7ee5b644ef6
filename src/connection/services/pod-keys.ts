import { NETWORK_DATA, NETWORK_STATUS } from '../../api/skupper/cluster-names.ts';
import { configMaps } from '../../kube/resource.ts';
import type { NamespaceView } from '../namespace-view.ts';

/** The routing keys of single pods that the site's routers know of. What is no such list is none. */
export function podKeysIn(view: Pick<NamespaceView, 'find'>): readonly string[] {
  const text = view.find(configMaps, NETWORK_STATUS)?.data?.[NETWORK_DATA.podKeys];
  if (text === undefined) return [];
  try {
    const keys: unknown = JSON.parse(text);
    return Array.isArray(keys) ? keys.filter((key) => typeof key === 'string') : [];
  } catch {
    return [];
  }
}
