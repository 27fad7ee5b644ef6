/** Ports of a router's pod that are free for listeners. */
import { FIRST_LISTENER_PORT, ROUTER_PORTS } from '../../api/skupper/cluster-names.ts';
import { DEFAULT_PORTS } from '../../api/skupper/names.ts';
import type { SiteResources } from '../resources.ts';

const LAST_PORT = 65_535;
/** Port of a former container in router pods, which tools still look for. */
const OTHERS = [5672];

export class RouterPorts {
  readonly #taken: Set<number>;
  #next = FIRST_LISTENER_PORT;

  constructor({ RouterAccess }: Pick<SiteResources, 'RouterAccess'>) {
    const ofAccess = RouterAccess.flatMap(({ spec }) => spec.roles.flatMap(({ port }) => port ?? []));
    this.#taken = new Set([...Object.values(ROUTER_PORTS), ...Object.values(DEFAULT_PORTS), ...OTHERS, ...ofAccess]);
  }

  /** @returns whether the port was free */
  take(port: number): boolean {
    if (!Number.isInteger(port) || port < FIRST_LISTENER_PORT || port > LAST_PORT || this.#taken.has(port)) return false;
    this.#taken.add(port);
    return true;
  }

  /**
   * Takes the lowest free port.
   * @returns undefined if no port is free
   */
  takeNext(): number | undefined {
    while (this.#next <= LAST_PORT && !this.take(this.#next)) this.#next += 1;
    return this.#next > LAST_PORT ? undefined : this.#next;
  }
}
