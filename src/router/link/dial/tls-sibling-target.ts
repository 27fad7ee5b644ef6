import { sameBundle, type TlsBundle } from '../../../identity/tls-bundle.ts';
import type { RouterConfig, SiblingAddress, SiblingConfig } from '../../contract.ts';
import { hostPort } from '../../../text/host-port.ts';
import type { RouterId } from '../../../routing/contract.ts';
import { routerId } from '../../../routing/names.ts';
import { openBundle } from '../bundle.ts';
import { KnownTarget, type DialEndpoint, type DialTarget } from './dial-endpoints.ts';
import { dialTls } from './tls-dial.ts';

/** Another router of this site at its own address. Pod addresses are reused, so the expected router must answer. */
export class TlsSiblingTarget extends KnownTarget {
  readonly router: RouterId;
  readonly #endpoint: SiblingAddress;
  readonly #tls: TlsBundle;

  constructor(site: string, endpoint: SiblingAddress, tls: TlsBundle) {
    super();
    this.router = routerId(site, endpoint.router);
    this.#endpoint = endpoint;
    this.#tls = tls;
  }

  endpoints(): readonly DialEndpoint[] {
    const bundle = openBundle(this.#tls, 'client');
    const endpoint = this.#endpoint;
    return [
      {
        peer: hostPort(endpoint),
        dial: (protocol, deadline, signal, onTcp) => dialTls({ endpoint, bundle, protocol, deadline, signal, sibling: true, onTcp }),
      },
    ];
  }

  equals(other: DialTarget): boolean {
    return (
      other instanceof TlsSiblingTarget &&
      other.router === this.router &&
      hostPort(other.#endpoint) === hostPort(this.#endpoint) &&
      sameBundle(other.#tls, this.#tls)
    );
  }
}

/** Only the router with the smaller name opens the link, so there is one for each pair. */
export function tlsTargets(
  { site, router }: RouterConfig,
  { tls, others }: SiblingConfig & { readonly kind: 'tls' },
): readonly TlsSiblingTarget[] {
  return others.filter((other) => other.router > router).map((other) => new TlsSiblingTarget(site.id, other, tls));
}
