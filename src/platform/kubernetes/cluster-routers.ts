/** Routers of a site in a cluster, as commands and the console ask them: with their rights, and a certificate that a Secret offers. */
import { isDeepStrictEqual } from 'node:util';
import { LOCAL_CA } from '../../api/skupper/cluster-names.ts';
import type { Certificate } from '../../api/skupper/index.ts';
import { NotReadable } from '../../errors/not-readable.ts';
import { isApiPurpose } from '../../identity/certificate-purpose.ts';
import type { KubeClient } from '../../kube/contract.ts';
import { isForbidden } from '../../kube/errors.ts';
import { secrets } from '../../kube/resource.ts';
import { nameOf } from '../../site/resources.ts';
import { pause } from '../../work/pause.ts';
import type { ApiMethod, AskableRouters } from '../resources.ts';
import { RouterApiClient, type ApiIdentity } from './router-api-client.ts';
import { watchRouterPods, type RouterPod, type WatchedRouterPods } from './router-pods.ts';
import type { RouterReach } from './router-reach.ts';
import { lacksRight, type Reader, type RouterRights } from './router-rights.ts';

export interface ClusterRoutersOptions {
  readonly client: KubeClient;
  readonly reader: Reader;
  readonly reach: RouterReach;
  readonly rights: () => RouterRights | Promise<RouterRights>;
  readonly certificates: () => Promise<readonly Certificate[]>;
}

/** Milliseconds for which a Secret is not read again. */
const IDENTITY_KEPT = 60_000;
/** Number of Secrets that are tried. */
const MOST_SECRETS = 8;

/** Requests of each method have connections of their own, so that slow answers of other sites do not delay reads. */
export class ClusterRouters implements AskableRouters, Disposable {
  readonly #options: ClusterRoutersOptions;
  readonly #end = new AbortController();
  #watched: WatchedRouterPods | undefined;
  readonly #apis = new Map<ApiMethod, { readonly at: number; readonly client: Promise<RouterApiClient> }>();

  constructor(options: ClusterRoutersOptions) {
    this.#options = options;
  }

  /** Running router pods; empty without the right to watch pods. */
  async pods(): Promise<readonly RouterPod[]> {
    const { client, reader, rights } = this.#options;
    if (!(await rights()).pods) return [];
    this.#watched ??= watchRouterPods(client, reader.namespace, this.#end.signal);
    return this.#watched.list();
  }

  /** Names of the running pods, the ready ones first. @throws NotReadable, or Error if the API server does not list them */
  async names(): Promise<readonly string[]> {
    const { reader, rights } = this.#options;
    if (!(await rights()).pods) throw new NotReadable(lacksRight('list and watch pods', reader));
    const pods = await this.pods();
    const problem = this.#watched?.problem();
    if (problem !== undefined) throw new Error(`the router pods cannot be listed: ${problem}`);
    return pods.toSorted((one, other) => Number(other.isReady) - Number(one.isReady)).map(({ name }) => name);
  }

  /** @throws NotReadable with a clause, or Error if the router does not answer */
  async metrics(name: string): Promise<string> {
    const { reach, rights, reader } = this.#options;
    if (!(await rights()).metrics) throw new NotReadable(lacksRight('get pods/proxy', reader));
    return reach.metrics(await this.#pod(name));
  }

  /** @throws NotReadable with a clause, or Error if the router does not answer */
  async ask(name: string, path: string, method: ApiMethod = 'GET', signal?: AbortSignal): Promise<unknown> {
    return (await this.#client(method)).ask(name, path, method, signal);
  }

  /** Opens connections, so that the first requests do not wait for them. The requests themselves report errors. */
  async connect(): Promise<void> {
    const connected = new AbortController();
    const connect = async (): Promise<void> => {
      const names = await this.names().catch(() => []);
      await Promise.allSettled(names.map((name) => this.ask(name, '/v1/self')));
    };
    await Promise.race([connect(), pause(CONNECT_WITHIN, connected.signal).catch(() => undefined)]);
    connected.abort();
  }

  [Symbol.dispose](): void {
    this.#end.abort();
    const end = (client: RouterApiClient): void => client[Symbol.dispose]();
    for (const { client } of this.#apis.values()) client.then(end, () => undefined);
    this.#apis.clear();
  }

  async #pod(name: string): Promise<RouterPod> {
    const pod = (await this.pods()).find((each) => each.name === name);
    if (pod === undefined) throw new Error(`the pod ${name} does not run`);
    return pod;
  }

  #client(method: ApiMethod): Promise<RouterApiClient> {
    const now = performance.now();
    const known = this.#apis.get(method);
    if (known !== undefined && now - known.at <= IDENTITY_KEPT) return known.client;
    const client = this.#open(method, known?.client);
    // Each caller gets the error.
    client.catch(() => undefined);
    this.#apis.set(method, { at: now, client });
    return client;
  }

  /** @param before is kept with its connections if the certificate is still the same */
  async #open(method: ApiMethod, before: Promise<RouterApiClient> | undefined): Promise<RouterApiClient> {
    const { reach, rights, reader } = this.#options;
    const old = await before?.catch(() => undefined);
    try {
      if (!(await rights()).api) throw new NotReadable(lacksRight('get and create pods/portforward', reader));
      const identity = await this.#identity(method === 'DELETE' ? 'api-control' : 'api');
      if (old !== undefined && isDeepStrictEqual(old.identity, identity)) return old;
      old?.[Symbol.dispose]();
      return new RouterApiClient(async (name) => reach.openApi(await this.#pod(name)), identity);
    } catch (error) {
      old?.[Symbol.dispose]();
      throw error;
    }
  }

  async #identity(purpose: 'api' | 'api-control'): Promise<ApiIdentity> {
    const { client, reader } = this.#options;
    const offered = await this.#offered(purpose);
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
    throw withoutIdentity(offered, isRefused, purpose, reader);
  }

  /** Names of the Certificates whose Secret admits to the API: those of the purpose first, then others that permit more. */
  async #offered(purpose: 'api' | 'api-control'): Promise<readonly string[]> {
    const { certificates, reader } = this.#options;
    const purposeIn = ({ spec }: Certificate): string | undefined => spec.settings?.['purpose'];
    const suits = (certificate: Certificate): boolean =>
      purpose === 'api' ? isApiPurpose(purposeIn(certificate)) : purposeIn(certificate) === purpose;
    try {
      const offered = (await certificates()).filter((certificate) => certificate.spec.client === true && suits(certificate));
      return offered.toSorted((one, other) => Number(purposeIn(other) === purpose) - Number(purposeIn(one) === purpose)).map(nameOf);
    } catch (error) {
      if (!isForbidden(error)) throw error;
      throw new NotReadable(lacksRight('list certificates.skupper.io', reader));
    }
  }
}

/** Milliseconds, after which the requests themselves wait. */
const CONNECT_WITHIN = 3_000;

/** @param offered names of the Secrets that may have one */
function withoutIdentity(offered: readonly string[], isRefused: boolean, purpose: 'api' | 'api-control', reader: Reader): NotReadable {
  const needed = 'the routers ask for a client certificate, and';
  const [first] = offered;
  const untried = offered.length <= MOST_SECRETS ? '' : `; only the first ${MOST_SECRETS} of ${offered.length} Secrets were tried`;
  if (first === undefined) {
    const spec = `{ ca: ${LOCAL_CA}, subject: NAME, client: true, settings: { purpose: ${purpose} } }`;
    const why = `the namespace ${reader.namespace} does not have a Certificate with the setting \`purpose: ${purpose}\``;
    return new NotReadable(`${needed} ${why}`, `Create a Certificate with this spec: ${spec}.`);
  }
  if (isRefused) return new NotReadable(`${needed} ${lacksRight(`get secrets/${first}`, reader)}${untried}`);
  return new NotReadable(`${needed} the Secret ${first} does not have it yet${untried}`, `Wait until the Certificate ${first} is ready.`);
}
