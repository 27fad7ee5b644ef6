import type { ConfigMap } from '../../kube/objects.ts';
import type { ControllerSettings } from '../settings.ts';

/**
 * Whether this controller manages a namespace. Its ConfigMap `CONTROL_CONFIG` may name a controller as `NAMESPACE/NAME`, or as `NAME` for
 * one in the same namespace. If it names none, every controller that watches all namespaces and needs no explicit name manages it.
 */
export function isControlled(
  namespace: string,
  control: ConfigMap | undefined,
  {
    name,
    namespace: own,
    watchNamespace,
    requireExplicitControl,
  }: Pick<ControllerSettings, 'name' | 'namespace' | 'watchNamespace' | 'requireExplicitControl'>,
): boolean {
  const named = control?.data?.['controller'] ?? '';
  if (named !== '') return named === `${own}/${name}` || (named === name && namespace === own);
  // A controller always manages its own namespace, which contains the objects that all sites share.
  return watchNamespace === undefined && (!requireExplicitControl || namespace === own);
}
