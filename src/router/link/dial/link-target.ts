import { isDeepStrictEqual } from 'node:util';
import type { LinkConfig } from '../../contract.ts';
import { sameBundle } from '../../../identity/tls-bundle.ts';
import { openBundle } from '../bundle.ts';
import { hostPort } from '../../host-port.ts';
import { dialTls } from './tls-dial.ts';
import type { DialTarget, DialEndpoint } from './dial-endpoints.ts';

/** A link of the config, as a dialer's target: its endpoints over TLS. */
export class LinkTarget implements DialTarget {
  readonly #config: LinkConfig;

  constructor(config: LinkConfig) {
    this.#config = config;
  }

  get cost(): number {
    return this.#config.cost;
  }

  endpoints(): readonly DialEndpoint[] {
    const bundle = openBundle(this.#config.tls, 'client');
    const { proxy } = this.#config;
    return this.#config.endpoints.map((endpoint) => ({
      peer: hostPort(endpoint),
      dial: (protocol, deadline, signal) => dialTls({ endpoint, proxy, bundle, protocol, deadline, signal }),
    }));
  }

  servedBy(other: DialTarget, peer: string): boolean {
    return other instanceof LinkTarget && this.#goesAs(other) && this.#config.endpoints.some((endpoint) => hostPort(endpoint) === peer);
  }

  #goesAs(other: LinkTarget): boolean {
    const { tls, proxy } = other.#config;
    return sameBundle(tls, this.#config.tls) && isDeepStrictEqual(proxy, this.#config.proxy);
  }

  equals(other: DialTarget): boolean {
    return (
      other instanceof LinkTarget &&
      this.#goesAs(other) &&
      this.#config.endpoints.map(hostPort).join(' ') === other.#config.endpoints.map(hostPort).join(' ')
    );
  }
}
