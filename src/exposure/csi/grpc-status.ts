/** The gRPC status codes used here (github.com/grpc/grpc, doc/statuscodes.md). */
export const Status = {
  OK: 0,
  CANCELLED: 1,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  OUT_OF_RANGE: 11,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
} as const;

export type Status = (typeof Status)[keyof typeof Status];

const names = new Map(Object.entries(Status).map(([name, code]) => [code, name] as const));

export function nameOf(status: Status): string {
  return names.get(status) ?? String(status);
}

/** Status and message of a call that failed. */
export interface Refusal {
  readonly status: Status;
  readonly message: string;
}
