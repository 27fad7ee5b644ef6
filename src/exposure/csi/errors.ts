import type { ErrorCode } from '../../errors/catalogue.ts';
import { EarshotError } from '../../errors/earshot-error.ts';
import { Status } from './grpc-status.ts';

/**
 * Everything that this folder refuses, as the orchestrator sees it: the kubelet puts the message into an event of the
 * pod (FailedMount), external-provisioner into one of the claim (ProvisioningFailed). So each says what is wrong, where,
 * and what to do about it.
 *
 * The status decides what the caller believes (kubelet: pkg/volume/util/types; external-provisioner: checkError): after
 * DEADLINE_EXCEEDED, UNAVAILABLE and ABORTED it takes the volume for half made, asks again, and cleans up by
 * NodeUnpublishVolume or DeleteVolume; after all others for not made, and asks again just the same. After INVALID_ARGUMENT, though,
 * external-provisioner does not ask for five minutes, whatever its --retry-interval-max says (isInfeasibleError): it is for what
 * nobody can put right in the same claim, and what a person may correct has another.
 */
export class CsiError extends EarshotError<CsiErrorCode> {
  readonly status: Status;

  constructor(code: CsiErrorCode, message: string, cause?: unknown) {
    super(code, message, cause);
    this.status = statuses[code];
  }
}

export type CsiErrorCode = keyof typeof statuses;

const statuses = {
  'csi-request': Status.INVALID_ARGUMENT,
  'csi-unsupported': Status.INVALID_ARGUMENT,
  'csi-target': Status.INVALID_ARGUMENT,
  'csi-installation': Status.FAILED_PRECONDITION,
  'csi-claim': Status.FAILED_PRECONDITION,
  'claim-not-found': Status.NOT_FOUND,
  'class-not-found': Status.NOT_FOUND,
  'listener-not-found': Status.NOT_FOUND,
  'no-class': Status.FAILED_PRECONDITION,
  'volume-not-found': Status.NOT_FOUND,
  'volume-exists': Status.ALREADY_EXISTS,
  'csi-capacity': Status.OUT_OF_RANGE,
  'not-on-this-node': Status.FAILED_PRECONDITION,
  'csi-waiting': Status.DEADLINE_EXCEEDED,
  'csi-not-ready': Status.UNAVAILABLE,
  'csi-superseded': Status.ABORTED,
  'csi-address': Status.FAILED_PRECONDITION,
  'csi-registration': Status.INTERNAL,
  'csi-socket': Status.INTERNAL,
  'csi-too-much': Status.ABORTED,
} as const satisfies Partial<Record<ErrorCode, Status>>;
