import type { LookupAddress } from 'node:dns';
import { isIP, Socket } from 'node:net';
import { bounded } from '../../telemetry/boundary.ts';
import { messageOf } from '../../telemetry/log.ts';
import { hostPort, type HostPort } from '../../text/host-port.ts';
import { hostNames } from '../../net/host-names.ts';
import { FailedAddresses } from './failed-addresses.ts';
import { failure, type ServerFailure } from './failure.ts';

/** Milliseconds between the starts of attempts at the addresses of one name (RFC 8305 section 5). */
const STAGGER = 250;

export type TcpResult =
  | { readonly kind: 'connected'; readonly socket: Socket }
  | { readonly kind: 'failed'; readonly failure: ServerFailure };

/**
 * Opens a TCP connection to any address of a host (RFC 8305). IPv6 and IPv4 addresses alternate. Each attempt starts 250 ms after the
 * previous one, or at once when that has failed; the first to connect wins. Addresses that recently did not answer are tried last. Calls
 * `done` once, never within the call.
 * @returns a function to cancel; `done` is not called afterwards
 */
export function connectAny(server: HostPort, done: (result: TcpResult) => void): () => void {
  if (isIP(server.host) !== 0) return new Race(server, done).start([server.host]);
  const race = new Race(server, done);
  const giveUp = hostNames.resolve(server.host, (addresses, error) => {
    if (addresses.length > 0) race.start(failedAddresses.inOrder(interleaved(addresses), server.port));
    else race.fail(nameUnknown(server.host, error));
  });
  return () => {
    giveUp();
    race.cancel();
  };
}

/** Shared by all servers of this process. */
const failedAddresses = new FailedAddresses();

interface AddressFailure {
  readonly address: string;
  readonly failure: ServerFailure;
}

/** Failure codes, the most informative first. The message must not depend on the order of the attempts, which changes. */
const TELLING = ['refused', 'timeout', 'connect-failed', 'unreachable'];

/** Combines the failures of all addresses of a server, whatever their order. */
export function commonFailure(failures: readonly AddressFailure[]): ServerFailure {
  const rank = ({ failure: { code } }: AddressFailure): number => TELLING.indexOf(code);
  const [first, ...others] = failures.toSorted((a, b) => rank(a) - rank(b) || (a.address < b.address ? -1 : 1));
  if (first === undefined) return failure('connect-failed', 'The server has no address.');
  if (others.length === 0) return first.failure;
  return failure(first.failure.code, `${first.failure.message} Its other addresses failed too.`);
}

/** An attempt at one address. */
interface Attempt {
  readonly race: Race;
  readonly socket: Socket;
  readonly address: string;
}

/** A socket and its attempt: handlers are shared by all sockets. */
interface AttemptSocket extends Socket {
  [ATTEMPT]?: Attempt | undefined;
}
const ATTEMPT = Symbol('attempt');

class Race {
  readonly #server: HostPort;
  readonly #done: (result: TcpResult) => void;
  /** Attempts in progress, in the order of their start. */
  #running: readonly Attempt[] = NONE;
  /** Addresses that are not tried yet. */
  #waiting: readonly string[] = NONE;
  #over = false;
  #timer: NodeJS.Timeout | undefined;
  #failures: readonly AddressFailure[] = NONE;

  constructor(server: HostPort, done: (result: TcpResult) => void) {
    this.#server = server;
    this.#done = done;
  }

  start(addresses: readonly string[]): () => void {
    this.#waiting = addresses;
    this.#next();
    return () => this.cancel();
  }

  cancel(): void {
    this.#over = true;
    clearTimeout(this.#timer);
    for (const { socket } of this.#running) socket.destroy();
    this.#running = NONE;
  }

  fail(why: ServerFailure): void {
    if (this.#over) return;
    this.#over = true;
    this.#done({ kind: 'failed', failure: why });
  }

  #next(): void {
    clearTimeout(this.#timer);
    if (this.#over) return;
    const [address] = this.#waiting;
    if (address === undefined) {
      if (this.#running.length === 0 && this.#failures.length > 0) this.fail(commonFailure(this.#failures));
      return;
    }
    this.#waiting = this.#waiting.length === 1 ? NONE : this.#waiting.slice(1);
    this.#attempt(address);
    if (this.#waiting.length > 0)
      this.#timer = setTimeout(
        bounded(
          'connection/next-address',
          () => this.#next(),
          (error) => this.#broken(error),
        ),
        STAGGER,
      );
  }

  #attempt(address: string): void {
    const { port } = this.#server;
    const socket: AttemptSocket = new Socket({ allowHalfOpen: true });
    const attempt: Attempt = { race: this, socket, address };
    socket[ATTEMPT] = attempt;
    socket.setNoDelay();
    keepAlive(socket);
    socket.connect({ host: address, port });
    this.#running = [...this.#running, attempt];
    socket.on('error', onAddressError);
    socket.on('connect', onAddressConnect);
  }

  /** An attempt has failed. */
  failed(attempt: Attempt, error: unknown): void {
    const { socket, address } = attempt;
    const { port } = this.#server;
    endAttempt(socket);
    socket.destroy();
    this.#running = this.#running.filter((one) => one !== attempt);
    failedAddresses.failed(address, port);
    this.#failures = [...this.#failures, { address, failure: failureOf(error, address, this.#server) }];
    this.#next();
  }

  /** An attempt has connected. */
  connected(attempt: Attempt): void {
    const socket: AttemptSocket = attempt.socket;
    if (this.#over) {
      socket.destroy();
      return;
    }
    this.#remember(attempt);
    this.#running = this.#running.filter((one) => one !== attempt);
    this.cancel();
    stopListening(socket);
    this.#done({ kind: 'connected', socket });
    // Only now: if `done` throws, the attempt still has to end the socket, which may have no handler of errors.
    socket[ATTEMPT] = undefined;
  }

  /** Attempts that started before the winner had at least 250 ms more than it. */
  #remember(winner: Attempt): void {
    failedAddresses.worked(winner.address, this.#server.port);
    for (const attempt of this.#running) {
      if (attempt === winner) return;
      failedAddresses.failed(attempt.address, this.#server.port);
    }
  }

  #broken(error: unknown): void {
    this.fail(failure('connect-failed', `Connecting to ${hostPort(this.#server)} failed (${messageOf(error)}).`));
    this.cancel();
  }
}

const NONE: readonly never[] = [];

const onAddressError = bounded('connection/address-error', failAttempt, failAttempt);
const onAddressConnect = bounded('connection/address-connect', winAttempt, failAttempt);

function failAttempt(this: AttemptSocket, error: unknown): void {
  const attempt = this[ATTEMPT];
  attempt?.race.failed(attempt, error);
}

function winAttempt(this: AttemptSocket): void {
  const attempt = this[ATTEMPT];
  attempt?.race.connected(attempt);
}

/** Whatever follows on the socket is not the attempt's. */
function endAttempt(socket: AttemptSocket): void {
  socket[ATTEMPT] = undefined;
  stopListening(socket);
}

function stopListening(socket: AttemptSocket): void {
  socket.off('error', onAddressError);
  socket.off('connect', onAddressConnect);
}

/**
 * Detects peers that vanished silently: probes after a minute of silence, then four times in 40 s. By default Node.js probes ten times in
 * 10 s, which would end a connection during a pause that TCP survives.
 */
export function keepAlive(socket: Socket): void {
  socket.setKeepAlive(true, KEEP_ALIVE_AFTER, KEEP_ALIVE_EVERY, KEEP_ALIVE_COUNT);
}

const [KEEP_ALIVE_AFTER, KEEP_ALIVE_EVERY, KEEP_ALIVE_COUNT] = [60_000, 10_000, 4];

/** Returns the system's error code if there is one. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : messageOf(error);
}

function failureOf(error: unknown, address: string, { host, port }: HostPort): ServerFailure {
  const at = `${hostPort({ host: address, port })}${host === address ? '' : ` (${host})`}`;
  const code = codeOf(error);
  switch (code) {
    case 'ECONNREFUSED':
      return failure('refused', `Connection refused: nothing is listening at ${at}.`);
    case 'ETIMEDOUT':
      return failure('timeout', `Timed out: no answer from ${at}.`);
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
    case 'EADDRNOTAVAIL':
      return failure('unreachable', `Unreachable: there is no route to ${at} (${code}).`);
    default:
      return failure('connect-failed', `Connecting to ${at} failed (${code}).`);
  }
}

/** @param error code of the resolver */
export function nameUnknown(host: string, error: string | undefined): ServerFailure {
  return failure('name-unknown', `The name ${JSON.stringify(host)} has no address (${error ?? 'none found'}).`);
}

/** Alternates the address families, in the resolver's order (RFC 8305 section 4). */
export function interleaved(addresses: readonly LookupAddress[]): readonly string[] {
  const first = addresses[0]?.family;
  const own = addresses.filter(({ family }) => family === first);
  const other = addresses.filter(({ family }) => family !== first);
  return own
    .flatMap((address, index) => [address, other[index]])
    .concat(other.slice(own.length))
    .flatMap((found) => found?.address ?? []);
}
