/** `earshot csi-node`: the CSI driver of one node. */
import { podListenersOnNode, runCsiNode as run } from '../../exposure/csi/run-node.ts';
import { startInformer } from '../../kube/watch/informer.ts';
import { podListeners } from '../../api/listeners/index.ts';
import { logInternalErrors } from '../../telemetry/boundary.ts';
import { serveTelemetry } from './telemetry-http.ts';
import { createLogger, type LogLevel } from '../../telemetry/log.ts';
import { registerProcessMetrics } from '../../telemetry/metrics.ts';
import { VERSION } from '../../version.ts';
import { connect, logProblem } from './connect.ts';
import { createCrashHandler } from './crash-handler.ts';

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
  const end = new AbortController();
  try {
    await using client = await connect('csi-node', options, end.signal);
    await using telemetry = await serveTelemetry({ port: options.httpPort, live: () => undefined, ready: () => problem });
    const cache = startInformer(client, podListeners, { ...podListenersOnNode(nodeName), signal: end.signal, onProblem: logProblem(log) });
    log.info({ httpPort: telemetry.port, nodeName, kubeletDir }, 'started');
    await run({ nodeName, kubeletDir, client, podListeners: cache, log, onReadiness: (now) => (problem = now) }, stopped);
  } finally {
    end.abort();
  }
  log.info('stopped');
}
