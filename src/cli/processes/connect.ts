import type { InformerProblem, KubeClient } from '../../kube/contract.ts';
import { createClient } from '../../kube/client/client.ts';
import { isNotFound } from '../../kube/errors.ts';
import { loadConfig } from '../../kube/client/config.ts';
import { messageOf, type Logger } from '../../telemetry/log.ts';
import { counter, duration } from '../../telemetry/metrics.ts';

/** Field manager of the fields that Earshot writes (metadata.managedFields). */
const FIELD_MANAGER = 'earshot';

const requests = counter('earshot_api_requests_total', 'Number of requests to the API server.', ['verb', 'resource', 'code']);
const seconds = duration('earshot_api_request_duration_seconds', 'Duration of requests to the API server.', ['verb']);

/** Creates a client whose requests are counted. Its user agent names the component, to distinguish components in an audit log. */
export async function connect(
  part: string,
  options: { readonly kubeconfig?: string; readonly fieldManager?: string },
  signal: AbortSignal,
): Promise<KubeClient> {
  const config = await loadConfig({ kubeconfig: options.kubeconfig });
  return createClient({
    config,
    userAgent: `earshot-${part}`,
    fieldManager: options.fieldManager ?? FIELD_MANAGER,
    signal,
    onRequest: (verb, resource, code, took) => {
      requests.inc({ verb, resource, code });
      seconds.observe({ verb }, took);
    },
  });
}

/**
 * Logs errors of an informer, which retries by itself. In a new cluster a kind is not served until its definition is installed.
 * That is logged once for each kind; the readiness probe shows how long it lasts.
 */
export function logProblem(log: Logger): (problem: InformerProblem) => void {
  const awaited = new Set<string>();
  return ({ resource, kind, error, delay }) => {
    if (isNotFound(error)) {
      log[awaited.has(resource) ? 'debug' : 'info']({ resource }, `waiting until the API server serves ${resource}`);
      awaited.add(resource);
      return;
    }
    log.warn({ resource, kind, error, retryInMilliseconds: Math.round(delay) }, `watching ${resource}: ${messageOf(error)}`);
  };
}
