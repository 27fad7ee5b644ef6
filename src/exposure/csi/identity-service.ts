import { DRIVER_NAME } from '../../api/listeners/names.ts';
import type { IdentityDefinition } from './generated/csi.ts';
import type { Implementation } from './grpc-server.ts';

/** PluginCapability.Service.Type. */
const CONTROLLER_SERVICE = 1;
const VOLUME_ACCESSIBILITY_CONSTRAINTS = 2;

/** The Identity service (CSI specification, "Identity Service RPC"). */
export function createIdentityService(options: {
  readonly version: string;
  readonly isReady: () => boolean;
}): Implementation<IdentityDefinition> {
  return {
    getPluginInfo: async () => ({ name: DRIVER_NAME, vendorVersion: options.version }),
    getPluginCapabilities: async () => ({
      capabilities: [CONTROLLER_SERVICE, VOLUME_ACCESSIBILITY_CONSTRAINTS].map((type) => ({ service: { type } })),
    }),
    probe: async () => ({ ready: { value: options.isReady() } }),
  };
}
