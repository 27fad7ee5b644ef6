/** Routers of a site in a cluster, as the console asks them: with its rights, and a certificate that a Secret offers. */
import type { Certificate } from '../../api/skupper/index.ts';
import { NotReadable } from '../../console/sources.ts';
import type { KubeClient } from '../../kube/contract.ts';
import { isForbidden } from '../../kube/errors.ts';
import { secrets } from '../../kube/resource.ts';
import { RouterApiClient, type ApiIdentity } from '../../platform/kubernetes/router-api-client.ts';
import { watchRouterPods, type RouterPod } from '../../platform/kubernetes/router-pods.ts';
import type { RouterReach } from '../../platform/kubernetes/router-reach.ts';
import { nameOf } from '../../site/resources.ts';
import { lacksRight, type ConsoleRights, type Reader } from './console-rights.ts';

export interface ClusterRoutersOptions {
  readonly client: KubeClient;
  readonly reader: Reader;
  readonly reach: RouterReach;
  readonly rights: () => ConsoleRights;
  readonly certificates: () => Promise<readonly Certificate[]>;
  /** Ends the watch of pods. */
  readonly signal: AbortSignal;
}

/** Milliseconds for which a Secret is not read again. */
const IDENTITY_KEPT = 60_000;
/** Number of Secrets that are tried. */
const MOST_SECRETS = 8;

export class ClusterRouters implements Disposable {
  readonly #options: ClusterRoutersOptions;
  #watched: (() => Promise<readonly RouterPod[]>) | undefined;
  #api: { readonly at: number; readonly client: Promise<RouterApiClient> } | undefined;

  constructor(options: ClusterRoutersOptions) {
    this.#options = options;
  }

  /** Running router pods; empty without the right to watch pods. */
  async pods(): Promise<readonly RouterPod[]> {
    const { client, reader, rights, signal } = this.#options;
    if (!rights().pods) return [];
    this.#watched ??= watchRouterPods(client, reader.namespace, signal);
    return this.#watched();
  }

  /** @throws NotReadable, or Error if the router does not answer */
  async metrics(name: string): Promise<string> {
    const { reach, rights, reader } = this.#options;
    if (!rights().metrics) throw new NotReadable(`Figures are not shown: ${lacksRight('get pods/proxy', reader)}.`);
    return reach.metrics(await this.#pod(name));
  }

  /** @throws NotReadable, or Error if the router does not answer */
  async ask(name: string, path: string, method?: 'GET' | 'POST', signal?: AbortSignal): Promise<unknown> {
    return (await this.#client()).ask(name, path, method, signal);
  }

  /** Whether the API of the routers can be asked. */
  canAsk(): Promise<boolean> {
    return this.#client().then(
      () => true,
      () => false,
    );
  }

  [Symbol.dispose](): void {
    this.#close();
  }

  async #pod(name: string): Promise<RouterPod> {
    const pod = (await this.pods()).find((each) => each.name === name);
    if (pod === undefined) throw new Error(`the pod ${name} does not run`);
    return pod;
  }

  #client(): Promise<RouterApiClient> {
    const now = performance.now();
    if (this.#api === undefined || now - this.#api.at > IDENTITY_KEPT) {
      this.#close();
      this.#api = { at: now, client: this.#open() };
      // Each caller gets the error.
      this.#api.client.catch(() => undefined);
    }
    return this.#api.client;
  }

  #close(): void {
    this.#api?.client.then(
      (client) => client[Symbol.dispose](),
      () => undefined,
    );
    this.#api = undefined;
  }

  async #open(): Promise<RouterApiClient> {
    const { reach, rights, reader } = this.#options;
    if (!rights().api) throw new NotReadable(`Connections are not shown: ${lacksRight('get and create pods/portforward', reader)}.`);
    const identity = await this.#identity();
    return new RouterApiClient(async (name) => reach.openApi(await this.#pod(name)), identity);
  }

  async #identity(): Promise<ApiIdentity> {
    const { client, reader, certificates } = this.#options;
    const offered = (await certificates()).filter(({ spec }) => spec.client === true && spec.settings?.['purpose'] === 'api').map(nameOf);
    let isRefused = false;
    for (const name of offered.slice(0, MOST_SECRETS)) {
      try {
        const { data = {} } = (await client.find(secrets, { name, namespace: reader.namespace })) ?? {};
        const [ca, cert, key] = ['ca.crt', 'tls.crt', 'tls.key'].map((file) => Buffer.from(data[file] ?? '', 'base64').toString('utf8'));
        if (ca && cert && key) return { ca, cert, key };
      } catch (error) {
        if (!isForbidden(error)) throw error;
        isRefused = true;
      }
    }
    throw new NotReadable(
      `Connections are not shown: the routers ask for a client certificate, ${whyWithout(offered, isRefused, reader)}.`,
    );
  }
}

function whyWithout([first]: readonly string[], isRefused: boolean, reader: Reader): string {
  if (first === undefined) return `and the namespace ${reader.namespace} does not have a Certificate with the setting \`purpose: api\``;
  return isRefused ? `and ${lacksRight(`get secrets/${first}`, reader)}` : `and the Secret ${first} does not have it yet`;
}
