/** Error answers of the simulated API server. */
export class Refused extends Error {
  readonly status: number;
  readonly reason: string;
  readonly retryAfter: number | undefined;

  constructor(status: number, reason: string, message: string, retryAfter?: number) {
    super(message);
    this.status = status;
    this.reason = reason;
    this.retryAfter = retryAfter;
  }
}
