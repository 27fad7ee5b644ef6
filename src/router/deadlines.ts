/**
 * Deadlines of what routers do over a network, in milliseconds. Round trips of 5 s and a pause of 10 s are no failure: ADR 23 lists what each of
 * them has to last for.
 */
export const deadlines = {
  /** To find an address and open a TCP connection: the first SYN and two more may be lost. Short, since each attempt begins with a new SYN. */
  connect: 10_000,
  /** For one step of opening a link: a TLS handshake, a hello, a request and its answer. Two or three round trips. */
  step: 30_000,
  /** From the hello of a link until its second connection is there: four round trips. */
  join: 60_000,
  /** After so long without success the next endpoint is tried too, and the status says so. */
  slowAttempt: 5_000,
};
