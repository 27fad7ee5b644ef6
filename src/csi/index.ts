/**
 * The CSI driver: its controller service, which external-provisioner calls over a socket in the same pod, and its node
 * service, which the kubelet calls on every node.
 */
export { CsiError, type CsiErrorCode } from './errors.ts';
export { runCsiNode, podListenersOnNode, type CsiNodeOptions } from './run-node.ts';
export { serveCsiController, type CsiControllerOptions } from './serve-controller.ts';
export type { SocketServer } from './server.ts';
