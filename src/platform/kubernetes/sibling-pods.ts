import type { Siblings } from '../../agent/ports.ts';
import { LOCAL_SERVER, ROUTER_PORTS } from '../../api/skupper/cluster-names.ts';
import type { Cache } from '../../kube/contract.ts';
import type { SiblingAddress, SiblingConfig } from '../../router/contract.ts';
import type { SelectablePod } from '../../site/material.ts';
import { isLabel } from '../../text/names.ts';
import type { RouterSecretBundles } from './router-secret-bundles.ts';
import type { WatchedPod } from './watched-pod.ts';

export interface SiblingPodsOptions {
  readonly pods: Pick<Cache<WatchedPod>, 'values'>;
  readonly bundles: Pick<RouterSecretBundles, 'get'>;
  /** Name of this pod. */
  readonly router: string;
  /** UID of its Site. */
  readonly site: () => string | undefined;
}

/**
 * Replicas: the other router pods of the site, from any Deployment. With `ha` there are two, and during a rollout one more of each. A
 * terminating pod is included until it has ended, because connections continue through it. Pods of a deleted Site are excluded: they run for
 * half a minute more, and cannot link to its successor.
 */
export class SiblingPods implements Siblings {
  readonly #options: SiblingPodsOptions;

  constructor(options: SiblingPodsOptions) {
    this.#options = options;
  }

  /**
   * Also set without replicas, since a rollout may add one at any time. Undefined without the site's own certificate, which replicas need
   * to connect.
   */
  async config(): Promise<SiblingConfig | undefined> {
    const tls = await this.#options.bundles.get(LOCAL_SERVER);
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
    const { pods, router } = this.#options;
    const own = this.#options.site();
    return [...pods.values()].flatMap(({ isRouter, pod, site = own }) =>
      isRouter && pod.name !== router && isLabel(pod.name) && (own === undefined || site === own) ? [pod] : [],
    );
  }
}
