import type { Siblings } from '../../agent/ports.ts';
import { LOCAL_SERVER, ROUTER_PORTS } from '../../api/skupper/cluster-names.ts';
import type { Cache } from '../../kube/contract.ts';
import type { SiblingAddress, SiblingConfig } from '../../router/contract.ts';
import type { SelectablePod } from '../../site/material.ts';
import { isLabel } from '../../text/names.ts';
import type { RouterSecretBundles } from './router-secret-bundles.ts';
import type { WatchedPod } from './watched-pod.ts';

/**
 * Replicas: the other router pods of the site, from any Deployment. With `ha` there are two, and during a rollout one more of each. A
 * terminating pod is included until it has ended, because connections continue through it.
 */
export class SiblingPods implements Siblings {
  readonly #pods: Pick<Cache<WatchedPod>, 'values'>;
  readonly #bundles: Pick<RouterSecretBundles, 'get'>;
  readonly #router: string;

  constructor(pods: Pick<Cache<WatchedPod>, 'values'>, bundles: Pick<RouterSecretBundles, 'get'>, router: string) {
    this.#pods = pods;
    this.#bundles = bundles;
    this.#router = router;
  }

  /**
   * Also set without replicas, since a rollout may add one at any time. Undefined without the site's own certificate, which replicas need
   * to connect.
   */
  async config(): Promise<SiblingConfig | undefined> {
    const tls = await this.#bundles.get(LOCAL_SERVER);
    return tls === undefined ? undefined : { kind: 'tls', port: ROUTER_PORTS.siblings, tls, others: this.#others() };
  }

  run(): Promise<boolean> {
    return Promise.resolve(this.#others().length > 0);
  }

  serving(): readonly string[] {
    return this.#siblings().flatMap(({ name, running, ready }) => (running && ready ? [name] : []));
  }

  #others(): readonly SiblingAddress[] {
    return this.#siblings()
      .flatMap(({ name, ip }) => (ip === undefined ? [] : [{ router: name, host: ip, port: ROUTER_PORTS.siblings }]))
      .toSorted((one, other) => (one.router < other.router ? -1 : 1));
  }
  #siblings(): readonly SelectablePod[] {
    return [...this.#pods.values()].flatMap(({ isRouter, pod }) =>
      isRouter && pod.name !== this.#router && isLabel(pod.name) ? [pod] : [],
    );
  }
}
