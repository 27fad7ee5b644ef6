import { DRIVER_NAME } from '../../api/listeners/names.ts';
import { CsiError } from './errors.ts';
import type { RegistrationDefinition } from './generated/registration.ts';
import type { Implementation } from './grpc-server.ts';

/** CSI versions that the driver supports. The kubelet compares the major number (kubelet: csi_plugin.go). */
const SUPPORTED_VERSIONS = ['1.0.0'];

/**
 * Registers the driver with the kubelet. The kubelet watches its folder plugins_registry for sockets and calls GetInfo on each.
 * It then calls the driver at `endpoint` (NodeGetInfo) and reports the result here.
 */
export function createRegistrationService(options: {
  /** Path of the driver's socket on the node. */
  readonly endpoint: string;
  readonly onRegistered: () => void;
  readonly onRefused: (error: CsiError) => void;
}): Implementation<RegistrationDefinition> {
  return {
    getInfo: async () => ({ type: 'CSIPlugin', name: DRIVER_NAME, endpoint: options.endpoint, supportedVersions: SUPPORTED_VERSIONS }),
    async notifyRegistrationStatus({ pluginRegistered, error }) {
      if (pluginRegistered) options.onRegistered();
      else options.onRefused(new CsiError('csi-registration', `The kubelet did not register the driver: ${error}`));
      return {};
    },
  };
}
