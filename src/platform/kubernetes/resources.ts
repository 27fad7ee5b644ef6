/** Resources of a namespace in a cluster, as commands use them: through the API server, with the user's rights. */
import { skupperKinds, skupperResources, type SkupperKind, type SkupperResource } from '../../api/skupper/index.ts';
import { networkObservers, type NetworkObserver } from '../../api/skupper/network-observer.ts';
import type { KubeClient } from '../../kube/contract.ts';
import { RENEWALS } from '../../api/skupper/cluster-names.ts';
import { EarshotError } from '../../errors/earshot-error.ts';
import { ApiError } from '../../kube/errors.ts';
import type { ConfigMap } from '../../kube/objects.ts';
import { configMaps, secrets } from '../../kube/resource.ts';
import type { AskedRenewals, Manifest, OfKind, Resources, Written } from '../resources.ts';
import { aboutOf } from './cluster-resources/about.ts';
import { notRunning } from './cluster-resources/controller-runs.ts';
import { explained, type ClusterPlace } from './cluster-resources/explain.ts';
import { linkToHere } from './cluster-resources/link-to-here.ts';
import { asManifest, isMadeByController, takenUp, type StoredObject } from './cluster-resources/objects.ts';
import { ClusterReader } from './cluster-resources/reader.ts';
import { knownResource, removeObject, writeManifest } from './cluster-resources/write.ts';
import { selectorOf } from './cluster-resources/workload.ts';
import { sortActiveFirst } from '../../site/surplus-sites.ts';
import { newQuestion, putEntry, renewalAnswer } from './renewal-requests.ts';
import { conventions } from './kubernetes-conventions.ts';

export type { ClusterPlace } from './cluster-resources/explain.ts';

/**
 * @param revoked returns the revoked sites from the site's record, for users who may read its Secret
 * @param mayList whether the user may list a kind; lists of other kinds are empty. Default: listing them fails
 */
export function clusterResources(
  client: KubeClient,
  place: ClusterPlace,
  revoked: Resources['revoked'],
  mayList: (kind: SkupperKind) => boolean = () => true,
): Resources {
  return new ClusterResources(client, place, revoked, mayList);
}

class ClusterResources implements Resources {
  readonly conventions = conventions;
  readonly #client: KubeClient;
  readonly #place: ClusterPlace;
  readonly #reader: ClusterReader;
  readonly #revoked: Resources['revoked'];
  readonly #mayList: (kind: SkupperKind) => boolean;
  /** Result of the last check of the controller. */
  #controller: { readonly advice: string | undefined; readonly at: number } | undefined;

  constructor(client: KubeClient, place: ClusterPlace, revoked: Resources['revoked'], mayList: (kind: SkupperKind) => boolean) {
    this.#revoked = revoked;
    this.#mayList = mayList;
    this.#client = client;
    this.#place = place;
    this.#reader = new ClusterReader(client, place.namespace);
  }

  get namespace(): string {
    return this.#place.namespace;
  }

  get where(): string {
    return `the namespace ${this.namespace} of ${this.#place.cluster}`;
  }

  get commandFlags(): string {
    return this.#place.commandFlags;
  }

  list<K extends SkupperResource['kind']>(kind: K): Promise<readonly OfKind<K>[]> {
    if (!this.#mayList(kind)) return Promise.resolve([]);
    // All items under a kind's path have that kind.
    return this.#explained(async () => (await this.#reader.list(skupperResources[kind])).map(withSpec) as unknown as OfKind<K>[]);
  }

  get<K extends SkupperResource['kind']>(kind: K, name: string): Promise<OfKind<K> | undefined> {
    return this.#explained(async () => {
      const found = await this.#reader.find(skupperResources[kind], name);
      return found === undefined ? undefined : (takenUp(withSpec(found)) as unknown as OfKind<K>);
    });
  }

  findObserver(name: string): Promise<NetworkObserver | undefined> {
    return this.#explained(async () => {
      const found = await this.#reader.find(networkObservers, name);
      return found && { ...found, status: { conditions: found.status?.conditions ?? [] } };
    });
  }

  find(kind: string, name: string): Promise<Written | undefined> {
    return this.#explained(async () => {
      const of = knownResource(kind);
      const found = of === undefined ? undefined : await this.#reader.find(of, name);
      return found === undefined ? undefined : this.#written({ ...found, kind });
    });
  }

  written(): Promise<readonly Written[]> {
    return this.#explained(async () => {
      const kinds = skupperKinds.filter(this.#mayList);
      const lists = await Promise.all(
        kinds.map(async (kind) => (await this.#reader.list(skupperResources[kind])).map((object) => ({ ...object, kind }))),
      );
      return lists
        .flat()
        .filter((object) => !isMadeByController(object))
        .map((object) => this.#written(object));
    });
  }

  put(manifest: Manifest): Promise<'created' | 'changed' | 'unchanged'> {
    return this.#explained(() => writeManifest(this.#client, this.namespace, manifest));
  }

  remove(kind: string, name: string): Promise<boolean> {
    return this.#explained(() => removeObject(this.#client, this.namespace, kind, name));
  }

  follow(): Disposable {
    return this.#reader.follow();
  }

  wait(milliseconds: number): Promise<void> {
    return this.#explained(() => this.#reader.changed(milliseconds));
  }

  async notRunning(): Promise<string | undefined> {
    const before = this.#controller;
    const now = performance.now();
    // Assume that a running controller runs for the rest of the command. One that does not run may start.
    if (before !== undefined && (before.advice === undefined || now - before.at < LOOK_AGAIN)) return before.advice;
    const advice = await this.#explained(() => notRunning(this.#client, this.#place, this.#reader));
    this.#controller = { advice, at: now };
    return advice;
  }

  async lastSeen(): ReturnType<Resources['lastSeen']> {
    const sites = sortActiveFirst(await this.list('Site'));
    return sites.find(({ status }) => status?.network !== undefined) ?? sites[0];
  }

  hasBundle(name: string): Promise<boolean | undefined> {
    return this.#explained(async () => {
      try {
        return (await this.#reader.find(secrets, name)) !== undefined;
      } catch (error) {
        if (error instanceof ApiError && error.status === 403) return undefined;
        throw error;
      }
    });
  }

  selectorOf(workload: string): Promise<string> {
    return this.#explained(() => selectorOf(this.#client, this.namespace, workload));
  }

  linkTo(...[site, host]: Parameters<Resources['linkTo']>): ReturnType<Resources['linkTo']> {
    return this.#explained(() => linkToHere({ client: this.#client, reader: this.#reader, namespace: this.namespace }, site, host));
  }

  revoked(): ReturnType<Resources['revoked']> {
    return this.#explained(async () => {
      try {
        return await this.#revoked();
      } catch (error) {
        // Revocations are additional information: without the right to read Secrets, show the rest.
        if (error instanceof ApiError && error.status === 403) return [];
        throw error;
      }
    });
  }

  get renewals(): AskedRenewals {
    const at = { client: this.#client, namespace: this.namespace };
    return {
      ask: (link) =>
        this.#explained(async () => {
          if (await putEntry(at, link, newQuestion())) return;
          throw new EarshotError(
            'failed',
            `No router runs the links of the namespace ${this.namespace} yet: the ConfigMap ${RENEWALS} does not exist.`,
          );
        }),
      // Objects under that path are ConfigMaps.
      answerTo: (link) =>
        this.#explained(async () => renewalAnswer((await this.#reader.find(configMaps, RENEWALS)) as ConfigMap | undefined, link)),
      drop: (link) => this.#explained(async () => void (await putEntry(at, link, null))),
    };
  }

  about(): ReturnType<Resources['about']> {
    return this.#explained(() => aboutOf(this.#client, this.#place));
  }

  #written(object: StoredObject & { readonly kind: string }): Written {
    return { manifest: asManifest(object), location: this.where };
  }

  async #explained<T>(act: () => Promise<T>): Promise<T> {
    try {
      return await act();
    } catch (error) {
      throw explained(error, this.#place);
    }
  }
}

/** Milliseconds between two checks for a controller that does not run. */
const LOOK_AGAIN = 2_000;

function withSpec<T extends StoredObject>(object: T): T {
  return { ...object, spec: object.spec ?? {} };
}
