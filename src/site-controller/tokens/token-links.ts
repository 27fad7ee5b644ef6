/** Stores the Links and Secrets that were created from tokens as objects of the cluster. */
import type { TokenStore } from '../../agent/ports.ts';
import { tokenMark } from '../../agent/tokens.ts';
import { annotation } from '../../api/skupper/cluster-names.ts';
import { accessTokens, links, type Link } from '../../api/skupper/index.ts';
import type { KubeClient } from '../../kube/contract.ts';
import { isNotFound } from '../../kube/errors.ts';
import type { KubeObject, ObjectMeta, OwnerReference, Secret } from '../../kube/objects.ts';
import { secrets } from '../../kube/resource.ts';
import { TrustError } from '../../trust/errors.ts';
import type { SiteCaches } from '../caches.ts';
import { isOurs } from '../trust/site-secret-bundles.ts';

export interface TokenLinksOptions {
  readonly client: Pick<KubeClient, 'create' | 'apply' | 'delete'>;
  readonly caches: Pick<SiteCaches, 'list' | 'view'>;
  readonly namespace: string;
  /** The Site, which owns everything that its tokens create. */
  readonly owner: () => OwnerReference;
}

/** Only the status of an AccessToken says whether it is redeemed; nothing else is stored. */
export class TokenLinks implements TokenStore {
  readonly #options: TokenLinksOptions;

  constructor(options: TokenLinksOptions) {
    this.#options = options;
  }

  redeemed(): Promise<ReadonlyMap<string, string>> {
    const { caches, namespace } = this.#options;
    const redeemed = caches.list(accessTokens, namespace).filter(({ status }) => status?.redeemed === true);
    return Promise.resolve(new Map(redeemed.map((token) => [token.metadata.name ?? '', tokenMark(token)])));
  }

  setRedeemed(): Promise<void> {
    return Promise.resolve();
  }

  /** @throws TrustError `name-taken` if a Link of the name exists that no token of this site created */
  async putLink(link: Link): Promise<void> {
    const { client, caches, namespace, owner } = this.#options;
    const view = caches.view(links);
    const object = { ...link, metadata: { ...link.metadata, namespace, ownerReferences: [owner()] } };
    const there = view.get(`${namespace}/${object.metadata.name}`);
    if (there === undefined) view.wrote(await client.create(links, object));
    else if (isOfTokens(there, owner()))
      view.wrote(await client.apply(links, { ...object, metadata: { ...object.metadata, ...seen(there) } }));
    else
      throw new TrustError(
        'name-taken',
        `Link ${object.metadata.name} already exists, and this token did not create it: rename one of the two`,
      );
  }

  createdBundles(): Promise<ReadonlySet<string>> {
    return Promise.resolve(new Set(this.#ownBundles().map(({ metadata }) => metadata.name ?? '')));
  }

  async removeBundle(name: string): Promise<void> {
    const { client, namespace } = this.#options;
    const secret = this.#ownBundles().find(({ metadata }) => metadata.name === name);
    if (secret === undefined) return;
    const { uid } = secret.metadata;
    try {
      await client.delete(secrets, { namespace, name }, uid === undefined ? {} : { uid });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  #ownBundles(): readonly Secret[] {
    const { caches, namespace, owner } = this.#options;
    const isMarked = ({ metadata }: Secret): boolean => metadata.annotations?.[annotation.tokenBundle] === 'true';
    return caches.list(secrets, namespace).filter((secret) => isMarked(secret) && isOurs(secret) && isOfTokens(secret, owner()));
  }

  async removeLink(name: string): Promise<void> {
    const { client, caches, namespace, owner } = this.#options;
    const created = caches.list(links, namespace).filter((link) => link.metadata.name === name && isOfTokens(link, owner()));
    for (const { metadata } of created) {
      if (metadata.name === undefined) continue;
      try {
        await client.delete(links, { namespace, name: metadata.name }, metadata.uid === undefined ? {} : { uid: metadata.uid });
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
    }
  }
}

/** Whether a token of the Site created the object: then the Site owns it. */
export function isOfTokens({ metadata: { ownerReferences = [] } }: KubeObject, { uid }: Pick<OwnerReference, 'uid'>): boolean {
  return ownerReferences.some((owner) => owner.uid === uid);
}

/** The API server refuses the write if the object has changed. */
function seen({ metadata: { uid, resourceVersion } }: KubeObject): Pick<ObjectMeta, 'uid' | 'resourceVersion'> {
  return { ...(uid === undefined ? {} : { uid }), ...(resourceVersion === undefined ? {} : { resourceVersion }) };
}
