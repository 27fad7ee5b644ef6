import { bounded } from '../../telemetry/boundary.ts';
import type { Problem } from '../contract.ts';
import { hostPort, type HostPort } from '../../text/host-port.ts';
import { portInUse } from './listening-socket.ts';
import { isConflict, readListeningTable } from './listening-table.ts';

/** Maximum number of searches for a port's owner in one check. Each may take 50 ms. */
const MOST_SEARCHES = 2;

interface Waiting {
  readonly addresses: readonly HostPort[];
  held: { readonly address: HostPort; readonly owner: string | undefined } | undefined;
  isChecked: boolean;
}

export interface WaitingPortsOptions {
  /** Milliseconds between two checks. */
  readonly every: number;
  readonly portOwner: (port: number) => string | undefined;
  onChange(): void;
}

/**
 * Finds ports that another process holds while a listener waits for a connector and has no socket. It reads the kernel's table of
 * sockets, since listening briefly would accept clients, and could take the port from a process that is starting.
 */
export class WaitingPorts {
  readonly #options: WaitingPortsOptions;
  readonly #waiting = new Map<string, Waiting>();
  #shared = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: WaitingPortsOptions) {
    this.#options = options;
  }

  /**
   * @param waiting addresses of each listener without a socket, by its name; new ones are checked at once
   * @param shared whether other routers of this user may listen at the same addresses
   */
  update(waiting: ReadonlyMap<string, readonly HostPort[]>, shared: boolean): void {
    this.#shared = shared;
    for (const name of this.#waiting.keys()) if (!waiting.has(name)) this.#waiting.delete(name);
    for (const [name, addresses] of waiting) {
      const known = this.#waiting.get(name)?.addresses.map(hostPort).join();
      if (known !== addresses.map(hostPort).join()) this.#waiting.set(name, { addresses, held: undefined, isChecked: false });
    }
    this.#check([...this.#waiting.values()].filter(({ isChecked }) => !isChecked));
    if (this.#waiting.size === 0) this.close();
    else this.#timer ??= this.#checkLater();
  }

  problem(name: string): Problem | undefined {
    const held = this.#waiting.get(name)?.held;
    return held === undefined ? undefined : portInUse(held.address, held.owner);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #checkLater(): NodeJS.Timeout {
    const check = (): void => {
      this.#timer = this.#checkLater();
      this.#check([...this.#waiting.values()]);
    };
    const again = (): void => {
      this.#timer = this.#checkLater();
    };
    return setTimeout(bounded('listener/waiting-ports', check, again), this.#options.every).unref();
  }

  #check(waiting: readonly Waiting[]): void {
    if (waiting.length === 0) return;
    const own = this.#shared ? `${process.getuid?.() ?? ''}` : undefined;
    const rows = Map.groupBy(
      readListeningTable().filter(({ uid }) => uid !== own),
      ({ port }) => port,
    );
    let searches = 0;
    let isChanged = false;
    for (const each of waiting) {
      each.isChecked = true;
      const before = each.held;
      const address = each.addresses.find((at) => rows.get(at.port)?.some((row) => isConflict(at, row)));
      if (address === undefined) each.held = undefined;
      else if (before?.owner === undefined) {
        searches += 1;
        each.held = { address, owner: searches <= MOST_SEARCHES ? this.#options.portOwner(address.port) : undefined };
      }
      isChanged ||= each.held?.owner !== before?.owner || (each.held === undefined) !== (before === undefined);
    }
    if (isChanged) this.#options.onChange();
  }
}
