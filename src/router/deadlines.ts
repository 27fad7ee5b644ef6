/**
 * Deadlines of network operations between routers, in milliseconds. Round trips of 5 s and a pause of 10 s are no failure. ADR 23 lists
 * what each deadline must allow for.
 */
export const deadlines = {
  /**
   * Resolving a name and opening a TCP connection: the first SYN and two more may be lost. Short, since each attempt begins with a new SYN.
   */
  connect: 10_000,
  /** One step of opening a link, of two or three round trips: a TLS handshake, a hello, or a request and its response. */
  step: 30_000,
  /** From the hello of a link until its second connection is open: four round trips. */
  join: 60_000,
  /** Time without success after which the next endpoint is tried too, and the status reports it. */
  slowAttempt: 5_000,
};
