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
 * Resources of a namespace, without statuses except for the details that Links keep. The API server validated each one by the schema of its
 * time. An object that is invalid by the present schema is left out, or keeps its last valid version, and has a problem of its own.
 */
export class StoredResources {
  readonly #watches: Pick<NamespaceWatches, 'resources'>;
  /** UID of the Site that these routers run, since a namespace may have several. Undefined accepts any. */
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
      // Resources have the names of their kinds.
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

/** An invalid change does not stop what runs: the last valid version stays in use, and the problem says so. */
function withLastReadable(now: ReadResource, before: ReadResource | undefined): ReadResource {
  const isSameObject = before?.from.metadata.uid === now.from.metadata.uid;
  if (now.resource !== undefined || before?.resource === undefined || !isSameObject) return now;
  const withNote = ({ message, ...problem }: ResourceProblem): ResourceProblem => ({
    ...problem,
    message: `${message}. Until then the last valid version runs.`,
    runs: true,
  });
  return { ...now, resource: before.resource, problems: now.problems.map(withNote) };
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
