import { isDeepStrictEqual } from 'node:util';
import type { GroupEndpoint, Learned, LinkConfig, LinkEndpoint } from '../../contract.ts';
import { sameBundle, type TlsBundle } from '../../../identity/tls-bundle.ts';
import { openBundle } from '../bundle.ts';
import { hostPort } from '../../../text/host-port.ts';
import { dialTls } from './tls-dial.ts';
import type { DialEndpoint, DialTarget } from './dial-endpoints.ts';

/** A configured link as a dialer's target: its endpoints over TLS. */
export class LinkTarget implements DialTarget {
  readonly #config: LinkConfig;

  constructor(config: LinkConfig) {
    this.#config = config;
  }

  get cost(): number {
    return this.#config.cost;
  }

  get tls(): TlsBundle {
    return this.#config.tls;
  }

  get priorRevisions(): number | undefined {
    return this.#config.priorRevisions;
  }

  get remembered(): Learned | undefined {
    return this.#config.remembered;
  }

  /**
   * First the configured endpoints that the site still announces, then its other announced ones. The other configured ones come last, since
   * only the site says that they no longer lead to it.
   */
  endpoints(learned?: Learned): readonly DialEndpoint[] {
    const bundle = openBundle(this.#config.tls, 'client');
    const { proxy, endpoints } = this.#config;
    const announced = learned === undefined ? [] : this.ofLearned(learned);
    const [announcedPeers, ownPeers] = [peersOf(announced), peersOf(endpoints)];
    const dialed = (endpoint: LinkEndpoint, site?: string): DialEndpoint => ({
      peer: hostPort(endpoint),
      ...(site === undefined ? {} : { site }),
      dial: (protocol, deadline, signal, onTcp) => dialTls({ endpoint, proxy, bundle, protocol, deadline, signal, onTcp }),
    });
    return [
      ...endpoints.filter((endpoint) => announcedPeers.has(hostPort(endpoint))).map((endpoint) => dialed(endpoint)),
      ...announced.filter((endpoint) => !ownPeers.has(hostPort(endpoint))).map((endpoint) => dialed(endpoint, learned?.site)),
      ...endpoints.filter((endpoint) => !announcedPeers.has(hostPort(endpoint))).map((endpoint) => dialed(endpoint)),
    ];
  }

  /** Endpoints of its group, or all without a group or if the group no longer exists. */
  ofLearned({ endpoints }: Learned): readonly LinkEndpoint[] {
    const { group } = this.#config;
    const own = group === undefined ? [] : endpoints.filter((endpoint) => endpoint.group === group);
    return (own.length === 0 ? endpoints : own).map(({ host, port }) => ({ host, port }));
  }

  /** A link at an announced endpoint stays there. */
  servedBy(other: DialTarget, peer: string): boolean {
    return other instanceof LinkTarget && this.#goesAs(other) && (this.#has(peer) || (!other.#has(peer) && this.beginsAs(other)));
  }

  #has(peer: string): boolean {
    return this.#config.endpoints.some((endpoint) => hostPort(endpoint) === peer);
  }

  #goesAs(other: LinkTarget): boolean {
    const { tls, proxy } = other.#config;
    return sameBundle(tls, this.#config.tls) && isDeepStrictEqual(proxy, this.#config.proxy);
  }

  equals(other: DialTarget): boolean {
    return other instanceof LinkTarget && this.#goesAs(other) && this.beginsAs(other);
  }

  beginsAs(other: DialTarget): boolean {
    return (
      other instanceof LinkTarget && this.#config.endpoints.map(hostPort).join(' ') === other.#config.endpoints.map(hostPort).join(' ')
    );
  }
}

const peersOf = (endpoints: readonly GroupEndpoint[]): ReadonlySet<string> => new Set(endpoints.map(hostPort));
