import { Status } from './status.ts';

/**
 * Everything that this folder refuses, as the orchestrator sees it: the kubelet puts the message into an event of the
 * pod (FailedMount), external-provisioner into one of the claim (ProvisioningFailed). So each says what is wrong, where,
 * and what to do about it.
 *
 * The status decides what the caller believes (kubelet: pkg/volume/util/types; external-provisioner: checkError): after
 * DEADLINE_EXCEEDED, UNAVAILABLE and ABORTED it takes the volume for half made, asks again, and cleans up by
 * NodeUnpublishVolume or DeleteVolume; after all others for not made, and asks again just the same.
 */
export class CsiError extends Error {
  readonly code: CsiErrorCode;
  readonly status: Status;

  constructor(code: CsiErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'CsiError';
    this.code = code;
    this.status = statuses[code];
  }
}

export type CsiErrorCode = keyof typeof statuses;

const statuses = {
  /** The call itself is not one that a correct caller makes. */
  CSI_REQUEST: Status.INVALID_ARGUMENT,
  /** Inline volumes, raw block devices. */
  CSI_UNSUPPORTED: Status.INVALID_ARGUMENT,
  /** A path that is not one of the kubelet's volume folders. */
  CSI_TARGET: Status.INVALID_ARGUMENT,
  /** The CSIDriver object, the provisioner's flags or the RBAC rules are not as the chart makes them. */
  CSI_INSTALLATION: Status.FAILED_PRECONDITION,
  /** The claim's annotations do not say which Listener or class. */
  CSI_CLAIM: Status.INVALID_ARGUMENT,
  CSI_CLAIM_NOT_FOUND: Status.NOT_FOUND,
  CSI_CLASS_NOT_FOUND: Status.NOT_FOUND,
  CSI_LISTENER_NOT_FOUND: Status.NOT_FOUND,
  CSI_LISTENER_WITHOUT_CLASS: Status.FAILED_PRECONDITION,
  CSI_VOLUME_NOT_FOUND: Status.NOT_FOUND,
  CSI_VOLUME_EXISTS: Status.ALREADY_EXISTS,
  CSI_CAPACITY: Status.OUT_OF_RANGE,
  /** The pod's PodListeners belongs to another node. */
  CSI_OTHER_NODE: Status.FAILED_PRECONDITION,
  /** No address yet, at the end of what the kubelet waits. */
  CSI_WAITING: Status.DEADLINE_EXCEEDED,
  /** This process has not seen the API server's state yet, or is about to stop. */
  CSI_NOT_READY: Status.UNAVAILABLE,
  /** The pod is torn down while its volume is still being mounted. */
  CSI_SUPERSEDED: Status.ABORTED,
  /** An address or a port that cannot be a file name. */
  CSI_ADDRESS: Status.FAILED_PRECONDITION,
  /** The kubelet did not accept this driver. */
  CSI_REGISTRATION: Status.INTERNAL,
  /** What stands where the socket should be is not ours to remove. */
  CSI_SOCKET: Status.INTERNAL,
  /** A volume holds more than can be removed in one go. */
  CSI_TOO_MUCH: Status.ABORTED,
} as const;
