import type { LinkConfig } from '../../contract.ts';
import { sameBundle } from '../../../identity/same-bundle.ts';
import { openBundle } from '../bundle.ts';
import { dialTls, endpointName } from './tls-dial.ts';
import type { DialTarget, Way } from './dial-endpoints.ts';

/** A link of the config, as a dialer's target: its endpoints over TLS. */
export class LinkTarget implements DialTarget {
  readonly #config: LinkConfig;

  constructor(config: LinkConfig) {
    this.#config = config;
  }

  get cost(): number {
    return this.#config.cost;
  }

  ways(): readonly Way[] {
    const bundle = openBundle(this.#config.tls, Date.now());
    return this.#config.endpoints.map((endpoint) => ({
      peer: endpointName(endpoint),
      dial: (protocol, deadline, signal) => dialTls({ endpoint, bundle, protocol, deadline, signal }),
    }));
  }

  servedBy(other: DialTarget, peer: string): boolean {
    return (
      other instanceof LinkTarget &&
      sameBundle(other.#config.tls, this.#config.tls) &&
      this.#config.endpoints.some((endpoint) => endpointName(endpoint) === peer)
    );
  }

  equals(other: DialTarget): boolean {
    return (
      other instanceof LinkTarget &&
      sameBundle(other.#config.tls, this.#config.tls) &&
      this.#config.endpoints.map(endpointName).join(' ') === other.#config.endpoints.map(endpointName).join(' ')
    );
  }
}
