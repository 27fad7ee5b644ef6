import { OnceLog } from '../../agent/once-log.ts';
import type { RouterApi } from '../../agent/api/router-api.ts';
import { serveRouterApiByTls, type ApiServer } from '../../agent/api/serve-tls.ts';
import { checkBundle } from '../../identity/bundle-check.ts';
import type { Revocations } from '../../identity/issued.ts';
import { sameBundle, type IssuedBundle, type TlsBundle } from '../../identity/tls-bundle.ts';
import { messageOf, type Logger } from '../../telemetry/log.ts';
import { Coalescer } from '../../limits/loop/coalescer.ts';

export interface ApiPortOptions {
  readonly api: RouterApi;
  readonly port: number;
  /** Returns the certificate that the site's routers present to each other. Its CA also verifies the clients of this port. */
  readonly bundle: () => Promise<TlsBundle | undefined>;
  readonly revoked: () => Revocations;
  readonly log: Logger;
}

/**
 * Port of the router API in a cluster. Opens once the site's own certificate exists, and uses each new one. Failures do not affect the
 * router.
 */
export class ApiPort implements AsyncDisposable {
  readonly #options: ApiPortOptions;
  readonly #passes = new Coalescer('pass/api-port', () => this.#step());
  readonly #once = new OnceLog();
  #serving: { readonly server: ApiServer; readonly tls: TlsBundle } | undefined;

  constructor(options: ApiPortOptions) {
    this.#options = options;
  }

  /** Undefined while the port is closed. */
  get port(): number | undefined {
    return this.#serving?.server.port;
  }

  /** Checks for changes, and retries what failed. */
  follow(): void {
    this.#passes.request();
  }

  /** Resolves once all requested checks are done. */
  idle(): Promise<void> {
    return this.#passes.idle();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#passes.end();
    await this.#serving?.server[Symbol.asyncDispose]();
  }

  async #step(): Promise<void> {
    const { api, port, bundle, revoked, log } = this.#options;
    const shown = await bundle();
    if (shown === undefined || sameBundle(shown, this.#serving?.tls)) return;
    try {
      const tls = usable(shown);
      if (this.#serving === undefined) {
        this.#serving = { server: await serveRouterApiByTls(api, { port, tls, revoked, log }), tls: shown };
      } else {
        this.#serving.server.setTls(tls);
        this.#serving = { server: this.#serving.server, tls: shown };
      }
    } catch (error) {
      const message = `the router API cannot be served: ${messageOf(error)}`;
      this.#once.say(message, () => log.warn({ port }, message));
    }
  }
}

/** @throws Error */
function usable(bundle: TlsBundle): IssuedBundle {
  const check = checkBundle(bundle, { kind: 'server', clientCa: true });
  if (!check.ok) throw new Error(check.problems[0].message);
  const { name, cert, key, ca } = bundle;
  if (cert === undefined || key === undefined || ca === undefined) throw new Error(`the bundle ${name} is incomplete`);
  return { name, cert, key, ca };
}
