import { listenerClasses } from '../api/listeners/index.ts';
import { customResourceDefinitionsResource } from '../api/crd.ts';
import { customResourceDefinitions } from '../api/listeners/crds.ts';
import type { KubeClient } from '../kube/contract.ts';
import { bringUpToDate } from '../kube/controller/definitions.ts';
import { isConflict } from '../kube/errors.ts';
import type { Logger } from '../telemetry/log.ts';
import { presetClasses, type PresetName } from './presets.ts';

/**
 * Updates the resource definitions to this version and creates missing preset classes. Definitions of an earlier system are
 * adopted in place, so no object is lost. They are not part of the chart, so uninstalling it keeps them and every Listener.
 * Rejects if the API server does not serve the new definitions yet; the caller then retries.
 */
export async function install(
  client: KubeClient,
  options: { readonly manageDefinitions: boolean; readonly preset: PresetName; readonly log: Logger },
  signal: AbortSignal,
): Promise<void> {
  if (options.manageDefinitions) {
    await bringUpToDate(client, customResourceDefinitionsResource, customResourceDefinitions(), options.log, signal);
  }
  for (const preset of presetClasses(options.preset)) {
    const name = preset.metadata.name ?? '';
    if ((await client.find(listenerClasses, { name }, { signal })) !== undefined) continue;
    try {
      await client.create(listenerClasses, preset, { signal });
      options.log.info({ listenerClass: name }, 'created the preset ListenerClass');
    } catch (error) {
      if (!isConflict(error)) throw error;
    }
  }
}
