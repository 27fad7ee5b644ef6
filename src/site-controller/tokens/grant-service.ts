import { isDeepStrictEqual } from 'node:util';
import { GRANT_SERVER } from '../../api/skupper/cluster-names.ts';
import { securedAccesses } from '../../api/skupper/index.ts';
import { problemOf, type Problem } from '../../errors/problem.ts';
import type { IssuedBundle } from '../../identity/tls-bundle.ts';
import type { Secret } from '../../kube/objects.ts';
import { secrets } from '../../kube/resource.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { GrantRealm, GrantServer } from '../../trust/tokens/contract.ts';
import { grantUrl, startGrantServer } from '../../trust/tokens/grant-server.ts';
import { REDEEM_PATH } from '../../trust/tokens/redemption.ts';
import type { NamespaceView } from '../namespace-view.ts';
import type { GrantSettings } from '../settings.ts';

/** Address where tokens can be redeemed, or the reason why they cannot. */
export type GrantAddress = { readonly url: (grant: string) => string; readonly ca: string } | { readonly problem: Problem };

export interface GrantServiceOptions {
  readonly settings: GrantSettings;
  readonly log: Logger;
  /** Reads a Secret that may be cached without its data. */
  readonly load: (secret: Secret) => Promise<Secret | undefined>;
  /** Called when the address has changed, which the statuses of grants contain. */
  readonly onChange: () => void;
}

/** The single server that redeems tokens of all sites while this process leads. Each site registers its own grants. */
export class GrantService implements AsyncDisposable {
  readonly #options: GrantServiceOptions;
  /** By the site's namespace. */
  readonly #realms = new Map<string, { readonly grants: ReadonlySet<string>; readonly realm: GrantRealm }>();
  #serving: { readonly server: GrantServer; readonly tls: IssuedBundle } | undefined;
  #hosts: readonly { readonly host: string; readonly port: string }[] = [];
  #problem: Problem | undefined;

  constructor(options: GrantServiceOptions) {
    this.#options = options;
  }

  get enabled(): boolean {
    return this.#options.settings.enabled;
  }

  /** @param grants UIDs of the grants; a namespace without grants has no realm */
  serve(namespace: string, grants: ReadonlySet<string>, realm: GrantRealm): void {
    if (grants.size === 0) this.#realms.delete(namespace);
    else this.#realms.set(namespace, { grants, realm });
  }

  close(namespace: string): void {
    this.#realms.delete(namespace);
  }

  /** Applies the server's certificate and endpoints from the controller's own namespace. */
  async follow(view: NamespaceView): Promise<void> {
    if (!this.enabled || view.namespace !== view.settings.namespace) return;
    const before = [this.#hosts, this.#serving?.tls.ca, this.#problem] as const;
    const access = view.find(securedAccesses, GRANT_SERVER);
    const endpoints = access?.status?.endpoints ?? [];
    this.#hosts = endpoints.flatMap(({ host, port }) => (host === undefined || port === undefined ? [] : [{ host, port }]));
    try {
      const { settings, load } = this.#options;
      const found = view.find(secrets, settings.tlsCredentials);
      await this.#listen(bundleOf(found === undefined ? undefined : await load(found)));
      this.#problem = undefined;
    } catch (error) {
      this.#problem = problemOf(error);
    }
    const now = [this.#hosts, this.#serving?.tls.ca, this.#problem] as const;
    if (!isDeepStrictEqual(before, now)) this.#options.onChange();
  }

  get address(): GrantAddress {
    const { baseUrl } = this.#options.settings;
    const waiting = (message: string): GrantAddress => ({ problem: { code: 'no-address', message } });
    if (this.#problem !== undefined) return { problem: this.#problem };
    if (this.#serving === undefined) return waiting('the grant server has no certificate yet');
    const { ca } = this.#serving.tls;
    if (baseUrl !== '') return { url: (grant) => `${baseUrl.replace(/\/+$/, '')}${REDEEM_PATH}${grant}`, ca };
    const [first] = this.#hosts;
    if (first === undefined) return waiting('the address of the grant server is not known yet');
    return { url: (grant) => grantUrl(first.host, Number(first.port), grant), ca };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const serving = this.#serving;
    this.#serving = undefined;
    await serving?.server[Symbol.asyncDispose]();
  }

  async #listen(tls: IssuedBundle | undefined): Promise<void> {
    if (tls === undefined || isDeepStrictEqual(tls, this.#serving?.tls)) return;
    const { settings, log } = this.#options;
    if (this.#serving !== undefined) {
      this.#serving.server.setTls(tls);
      this.#serving = { server: this.#serving.server, tls };
      return;
    }
    const realm = (grant: string): GrantRealm | undefined => [...this.#realms.values()].find(({ grants }) => grants.has(grant))?.realm;
    const server = await startGrantServer({ port: settings.port, tls, realm, log: log.child({ part: 'grants' }) });
    this.#serving = { server, tls };
    log.info({ port: server.port }, 'tokens can be redeemed');
  }
}

function bundleOf(secret: Secret | undefined): IssuedBundle | undefined {
  const text = (key: string): string | undefined => {
    const value = secret?.data?.[key];
    return value === undefined ? undefined : Buffer.from(value, 'base64').toString('utf8');
  };
  const [cert, key, ca] = ['tls.crt', 'tls.key', 'ca.crt'].map(text);
  return cert === undefined || key === undefined || ca === undefined ? undefined : { name: GRANT_SERVER, cert, key, ca };
}
