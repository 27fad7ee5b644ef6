import type { KubeClient, StartInformer } from '../kube/contract.ts';
import type { ConfigMap } from '../kube/objects.ts';
import { configMaps } from '../kube/resource.ts';
import type { Logger } from '../telemetry/log.ts';

const NAME = 'skupper-log-config';
const KEY = 'CONTROLLER_LOG_LEVEL';
const LEVELS: ReadonlySet<string> = new Set(['debug', 'info', 'warn', 'error']);

/**
 * Follows the log level in ConfigMap `skupper-log-config` of the controller's namespace. Without the ConfigMap, the original level applies.
 */
export function followLogLevel(parts: {
  readonly start: StartInformer;
  readonly client: KubeClient;
  readonly namespace: string;
  readonly log: Logger;
  readonly signal: AbortSignal;
}): void {
  const { start, client, namespace, log, signal } = parts;
  const usual = log.level;
  const cache = start<ConfigMap>(client, configMaps, { namespace, fieldSelector: `metadata.name=${NAME}`, signal });
  cache.onChange(({ type, object }) => {
    const asked = type === 'deleted' ? '' : (object.data?.[KEY] ?? '').trim().toLowerCase();
    if (asked !== '' && !LEVELS.has(asked)) log.warn(`${KEY} in ConfigMap ${NAME} must be one of ${[...LEVELS].join(', ')}`);
    const level = LEVELS.has(asked) ? asked : usual;
    if (log.level === level) return;
    log.level = level;
    log.info({ level }, 'log level changed');
  });
}
