import { listenerClasses } from '../api/listeners/index.ts';
import { customResourceDefinitions } from '../api/listeners/crds.ts';
import type { KubeClient } from '../kube/contract.ts';
import { ApiError } from '../kube/errors.ts';
import type { KubeObject } from '../kube/objects.ts';
import { resource } from '../kube/resource.ts';
import type { Logger } from '../telemetry/log.ts';
import { presetClasses, type PresetName } from './presets.ts';

const definitions = resource<KubeObject>('apiextensions.k8s.io/v1', 'CustomResourceDefinition', 'customresourcedefinitions', 'cluster');

/**
 * Brings the resource definitions to this version and makes the preset classes that are absent. Definitions that an
 * earlier system installed are taken over in place, so that no object is lost; they are no part of the chart, so that
 * uninstalling it leaves them and every Listener.
 *
 * Rejects when the API server does not serve the new definitions yet; then call it again.
 */
export async function install(
  client: KubeClient,
  options: { readonly manageDefinitions: boolean; readonly preset: PresetName; readonly log: Logger },
  signal: AbortSignal,
): Promise<void> {
  if (options.manageDefinitions) {
    for (const definition of customResourceDefinitions()) await client.apply(definitions, definition, { signal });
  }
  for (const preset of presetClasses(options.preset)) {
    const name = preset.metadata.name ?? '';
    if ((await client.find(listenerClasses, { name }, { signal })) !== undefined) continue;
    try {
      await client.create(listenerClasses, preset, { signal });
      options.log.info({ listenerClass: name }, 'made the preset ListenerClass');
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 409) throw error;
    }
  }
}
