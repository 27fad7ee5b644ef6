import type { Logger } from '../../telemetry/log.ts';
import { createControllerService, type ControllerServiceOptions } from './controller-service.ts';
import { ControllerDefinition, IdentityDefinition } from './generated/csi.ts';
import { createIdentityService } from './identity-service.ts';
import { serveOnSocket, type SocketServer } from './socket-server.ts';
import { VERSION } from '../../version.ts';

export interface CsiControllerOptions extends ControllerServiceOptions {
  /** Path of the Unix socket. */
  readonly socket: string;
  readonly log: Logger;
}

/** Serves the controller service on every replica. Only the provisioner that won its own leader election sends requests. */
export function serveCsiController({ socket, log, ...options }: CsiControllerOptions): Promise<SocketServer> {
  const isReady = (): boolean => options.classes.isSynced && options.listeners.isSynced;
  return serveOnSocket({
    socket,
    log,
    services(server) {
      server.add(IdentityDefinition, createIdentityService({ version: VERSION, isReady }));
      server.add(ControllerDefinition, createControllerService(options));
    },
  });
}
