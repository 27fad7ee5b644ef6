import type { ErrorCode } from '../../errors/catalogue.ts';
import { EarshotError } from '../../errors/earshot-error.ts';
import { Status } from './grpc-status.ts';

/**
 * Every error of the CSI services. The kubelet shows its message in an event of the pod (FailedMount), external-provisioner in
 * one of the claim (ProvisioningFailed). So it says what is wrong, where, and how to fix it.
 * The status decides the caller's reaction (kubelet: pkg/volume/util/types; external-provisioner: checkError). After
 * DEADLINE_EXCEEDED, UNAVAILABLE and ABORTED it considers the volume partially created. It retries, and cleans up by
 * NodeUnpublishVolume or DeleteVolume. After others it considers the volume not created, and also retries. After INVALID_ARGUMENT
 * external-provisioner waits five minutes, whatever --retry-interval-max is (isInfeasibleError). So that status is only for errors
 * that cannot be fixed for the same claim; errors that users can correct have another one.
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
