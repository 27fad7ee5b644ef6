import { DRIVER_NAME } from '../../api/listeners/names.ts';
import { CsiError } from './errors.ts';
import type { RegistrationDefinition } from './generated/registration.ts';
import type { Implementation } from './grpc-server.ts';

/** Versions of CSI that the kubelet may speak to the driver (it compares the major number, kubelet: csi_plugin.go). */
const SUPPORTED_VERSIONS = ['1.0.0'];

/**
 * How the kubelet gets to know the driver. It watches its folder plugins_registry for sockets, asks each who is there,
 * calls the driver at `endpoint` (NodeGetInfo), and then tells here whether it took the driver.
 */
export function createRegistrationService(options: {
  /** The driver's socket, by its path on the node. */
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
