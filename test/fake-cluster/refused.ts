/** What the played API server answers instead of an object. */
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
