/** `earshot csi-node`: the CSI driver of one node. */
import type { VolumeReport } from '../../exposure/csi/published-volumes.ts';
import { podListenersOnNode, runCsiNode as run, type CsiNodeOptions } from '../../exposure/csi/run-node.ts';
import { startInformer } from '../../kube/watch/informer.ts';
import { podListeners } from '../../api/listeners/index.ts';
import { logInternalErrors } from '../../telemetry/boundary.ts';
import { serveTelemetry } from './telemetry-http.ts';
import { createLogger, type LogLevel } from '../../telemetry/log.ts';
import { registerProcessMetrics } from '../../telemetry/metrics.ts';
import { VERSION } from '../../version.ts';
import { connect, logProblem } from './connect.ts';
import { createCrashHandler } from './crash-handler.ts';

/** Page of the HTTP port with the volumes of the node. */
const VOLUMES_PATH = '/v1/volumes';

export interface CsiNodeCommand {
  readonly nodeName: string;
  readonly kubeletDir: string;
  readonly httpPort: number;
  readonly kubeconfig?: string;
  readonly logLevel: LogLevel;
}

export async function runCsiNode(options: CsiNodeCommand, until: AbortSignal): Promise<void> {
  const log = createLogger({ level: options.logLevel, component: 'csi-node' });
  logInternalErrors(log);
  using resort = createCrashHandler(log, until);
  const { stopped } = resort;
  registerProcessMetrics(VERSION);
  const { nodeName, kubeletDir } = options;
  let problem: string | undefined = 'starting';
  let volumes = (): readonly VolumeReport[] => [];
  const end = new AbortController();
  try {
    await using client = await connect('csi-node', options, end.signal);
    await using telemetry = await serveTelemetry({
      port: options.httpPort,
      live: () => undefined,
      ready: () => problem,
      pages: { [VOLUMES_PATH]: () => ({ items: volumes() }) },
    });
    const cache = startInformer(client, podListeners, { ...podListenersOnNode(nodeName), signal: end.signal, onProblem: logProblem(log) });
    log.info({ httpPort: telemetry.port, nodeName, kubeletDir }, 'started');
    const onVolumes: CsiNodeOptions['onVolumes'] = (list) => (volumes = list);
    await run({ nodeName, kubeletDir, client, podListeners: cache, log, onReadiness: (now) => (problem = now), onVolumes }, stopped);
  } finally {
    end.abort();
  }
  log.info('stopped');
}
