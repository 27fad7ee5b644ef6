import type { Logger } from '../../telemetry/log.ts';
import type { KubeClient } from '../contract.ts';
import type { KubeObject } from '../objects.ts';
import type { Resource } from '../resource.ts';

interface Convertible extends KubeObject {
  readonly spec: { readonly conversion?: { readonly strategy?: string } };
}

/**
 * Applies resource definitions in place, those that an earlier system installed included.
 *
 * Rejects when the API server does not take them yet; then call it again.
 */
export async function bringUpToDate<T extends Convertible>(
  client: KubeClient,
  of: Resource<T>,
  definitions: readonly T[],
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  for (const definition of definitions) {
    const { metadata, spec } = await client.apply(of, definition, { signal });
    if (spec.conversion?.strategy !== 'Webhook') continue;
    // An earlier system's, whose Service went with it. Now there is one version and nothing to convert; from the second on, every
    // object would be out of reach. In one patch, since the strategy may not say None while there is a webhook.
    const name = metadata.name ?? '';
    const patch = { spec: { conversion: { strategy: 'None', webhook: null } } };
    await client.patch(of, { name }, patch, { type: 'merge', signal });
    log.info({ definition: name }, 'took away the conversion webhook that an earlier system left in this CustomResourceDefinition');
  }
}
