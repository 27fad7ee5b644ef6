import type { ConfigMap } from '../../kube/objects.ts';
import type { ControllerSettings } from '../settings.ts';

/**
 * Whether a namespace is this controller's. Its ConfigMap `CONTROL_CONFIG` may name one, as `NAMESPACE/NAME`, or `NAME` for one in the namespace
 * itself. Where it names none, all take it that look at all namespaces and do not wait to be named.
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
  // Its own namespace has what it needs for all others.
  return watchNamespace === undefined && (!requireExplicitControl || namespace === own);
}
