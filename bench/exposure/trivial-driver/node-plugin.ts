import { mkdir, rm } from 'node:fs/promises';
import { IdentityDefinition, NodeDefinition } from '../../../src/exposure/csi/generated/csi.ts';
import { RegistrationDefinition } from '../../../src/exposure/csi/generated/registration.ts';
import { serveOnSocket } from '../../../src/exposure/csi/socket-server.ts';
import type { Logger } from '../../../src/telemetry/log.ts';
import type { NodeLayout } from '../../../test/harness/layout.ts';

/** When each pod's mount was asked for and answered, by performance.now(); the pod's uid is the key. */
export type Mounts = Map<string, { readonly asked: number; readonly answered: number }>;

export interface NodePluginOptions {
  readonly driver: string;
  readonly node: NodeLayout;
  readonly log: Logger;
  readonly mounts: Mounts;
}

/** The kubelet's path of its folder, which this machine sees at the node's kubeletDir. */
const KUBELET = '/var/lib/kubelet';
const POD_UID = /\/pods\/([^/]+)\//;

/** Serves one node, and returns once its kubelet has taken the driver. */
export async function serveNode({ driver, node, log, mounts }: NodePluginOptions): Promise<AsyncDisposable> {
  const here = (path: string): string => path.replace(KUBELET, node.kubeletDir);
  const endpoint = `${KUBELET}/plugins/${driver}/csi.sock`;
  const registered = Promise.withResolvers<void>();
  await mkdir(here(`${KUBELET}/plugins/${driver}`), { recursive: true });
  await using cleanup = new AsyncDisposableStack();
  cleanup.use(
    await serveOnSocket({
      socket: here(endpoint),
      log,
      services(server) {
        server.add(IdentityDefinition, {
          getPluginInfo: async () => ({ name: driver, vendorVersion: '0' }),
          getPluginCapabilities: async () => ({ capabilities: [] }),
          probe: async () => ({ ready: { value: true } }),
        });
        server.add(NodeDefinition, {
          async nodePublishVolume({ targetPath }) {
            const asked = performance.now();
            await mkdir(here(targetPath), { recursive: true });
            mounts.set(POD_UID.exec(targetPath)?.[1] ?? '', { asked, answered: performance.now() });
            return {};
          },
          async nodeUnpublishVolume({ targetPath }) {
            await rm(here(targetPath), { recursive: true, force: true });
            return {};
          },
          nodeGetCapabilities: async () => ({}),
          nodeGetInfo: async () => ({ nodeId: node.name, accessibleTopology: undefined }),
        });
      },
    }),
  );
  cleanup.use(
    await serveOnSocket({
      socket: here(`${KUBELET}/plugins_registry/${driver}-reg.sock`),
      log,
      services(server) {
        server.add(RegistrationDefinition, {
          getInfo: async () => ({ type: 'CSIPlugin', name: driver, endpoint, supportedVersions: ['1.0.0'] }),
          async notifyRegistrationStatus({ pluginRegistered, error }) {
            if (pluginRegistered) registered.resolve();
            else registered.reject(new Error(`the kubelet of ${node.name} did not take ${driver}: ${error}`));
            return {};
          },
        });
      },
    }),
  );
  await registered.promise;
  return cleanup.move();
}
