import { listenerClasses } from '../api/listeners/index.ts';
import { customResourceDefinitionsResource } from '../api/crd.ts';
import { customResourceDefinitions } from '../api/listeners/crds.ts';
import type { KubeClient } from '../kube/contract.ts';
import { bringUpToDate } from '../kube/controller/definitions.ts';
import { isConflict } from '../kube/errors.ts';
import type { Logger } from '../telemetry/log.ts';
import { presetClasses, type PresetName } from './presets.ts';

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
    await bringUpToDate(client, customResourceDefinitionsResource, customResourceDefinitions(), options.log, signal);
  }
  for (const preset of presetClasses(options.preset)) {
    const name = preset.metadata.name ?? '';
    if ((await client.find(listenerClasses, { name }, { signal })) !== undefined) continue;
    try {
      await client.create(listenerClasses, preset, { signal });
      options.log.info({ listenerClass: name }, 'made the preset ListenerClass');
    } catch (error) {
      if (!isConflict(error)) throw error;
    }
  }
}
