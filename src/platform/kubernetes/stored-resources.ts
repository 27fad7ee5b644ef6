import { isDeepStrictEqual } from 'node:util';
import { validateResource } from '../../api/skupper/validate.ts';
import { apiVersionOf } from '../../kube/resource.ts';
import type { Learned } from '../../router/contract.ts';
import type { ResourceProblem } from '../../site/problem.ts';
import { rememberedOfAll } from '../../site/remembered.ts';
import { sortResources, type Kind, type ResourceKey, type SiteObject, type SiteResources } from '../../site/resources.ts';
import { followed, type NamespaceWatches, type StoredResource } from './namespace-watches.ts';

export interface ReadResources {
  readonly resources: SiteResources;
  readonly problems: readonly ResourceProblem[];
  readonly remembered: ReadonlyMap<string, Learned>;
}

interface ReadResource {
  readonly from: StoredResource;
  readonly resource?: SiteObject;
  readonly problems: readonly ResourceProblem[];
}

/**
 * The resources of a namespace, without their statuses but for what Links remember. The API server has checked each by the definition of its kind as that was at the time:
 * what is no good by today's is left out, and told as its own problem.
 */
export class StoredResources {
  readonly #watches: Pick<NamespaceWatches, 'resources'>;
  /** A namespace may have several; its routers carry out this one. Undefined: whatever there is. */
  readonly #site: () => string | undefined;
  #known: ReadonlyMap<string, ReadResource> = new Map();

  constructor(watches: Pick<NamespaceWatches, 'resources'>, site: () => string | undefined) {
    this.#watches = watches;
    this.#site = site;
  }

  read(): ReadResources {
    const known = new Map<string, ReadResource>();
    const site = this.#site();
    for (const of of followed) {
      // Resources are named by their kinds.
      const kind = of.kind as Kind;
      for (const object of this.#watches.resources(kind).values()) {
        const { uid, name = '' } = object.metadata;
        if (kind === 'Site' && site !== undefined && uid !== site) continue;
        const before = this.#known.get(`${kind}/${name}`);
        const isSame = before !== undefined && isDeepStrictEqual(contentOf(before.from), contentOf(object));
        const stored = { ...object, apiVersion: apiVersionOf(of), kind };
        known.set(`${kind}/${name}`, isSame ? before : withLastReadable(readResource(kind, stored), before));
      }
    }
    this.#known = known;
    const all = [...known.values()];
    const resources = sortResources(all.flatMap(({ resource }) => resource ?? []));
    return { resources, problems: all.flatMap(({ problems }) => problems), remembered: this.#remembered(resources) };
  }

  #remembered({ Link }: SiteResources): ReadonlyMap<string, Learned> {
    const standing = new Map([...this.#watches.resources('Link').values()].map((link) => [link.metadata.name, link]));
    return rememberedOfAll(Link, (name) => standing.get(name));
  }
}

/** A change that cannot be read does not end what runs: the resource goes on as it was, and says so. */
function withLastReadable(now: ReadResource, before: ReadResource | undefined): ReadResource {
  const isSameObject = before?.from.metadata.uid === now.from.metadata.uid;
  if (now.resource !== undefined || before?.resource === undefined || !isSameObject) return now;
  const told = ({ message, ...problem }: ResourceProblem): ResourceProblem => ({
    ...problem,
    message: `${message}. Until then the last valid version runs.`,
    runs: true,
  });
  return { ...now, resource: before.resource, problems: now.problems.map(told) };
}

function contentOf({ metadata: { uid, generation }, spec }: StoredResource): unknown {
  return [uid, generation, spec];
}

function readResource(kind: Kind, from: StoredResource): ReadResource {
  const { resource, problems } = validateResource(from);
  const key: ResourceKey = `${kind}/${from.metadata.name ?? ''}`;
  return {
    from,
    ...(resource === undefined ? {} : { resource }),
    problems: problems.map(({ severity, path, message }) => ({
      resource: key,
      severity,
      code: 'invalid',
      ...(path === '' ? {} : { field: path }),
      message,
    })),
  };
}
