/** Kinds that are read from the API server, and exist in clusters only. */
import { isForbidden } from '../../kube/errors.ts';
import { wholeName, type Resource } from '../../kube/resource.ts';
import { explanationOf } from '../chain.ts';
import type { Explanation } from '../step.ts';
import type { ExplainableKind, Explained, ExplainPlace } from './explainable-kind.ts';
import { lackOf, namesOfKind, type ExposurePlace } from './gather-exposure.ts';

export interface ClusterKind extends Pick<ExplainableKind, 'words' | 'half'> {
  readonly of: Resource;
  /** @returns undefined if no such object exists */
  explain(place: ExposurePlace, name: string, site: ExplainPlace['site']): Promise<ExplainedObject | undefined>;
}

export interface ExplainedObject {
  readonly explanation: Explanation;
  readonly title: string;
}

export function clusterKind(kind: ClusterKind): ExplainableKind {
  const { of, words, half } = kind;
  return {
    kind: of.kind,
    words,
    half,
    needsCluster: true,
    isClusterWide: !of.namespaced,
    listedBy: ({ cluster }) => `\`kubectl ${of.namespaced ? `-n ${cluster?.namespace ?? 'NAMESPACE'} ` : ''}get ${wholeName(of)}\``,
    explain: (place, name) => explainOne(place, kind, name),
  };
}

/** A missing right to the object itself is a step too. */
async function explainOne({ cluster, probe, site }: ExplainPlace, { of, explain }: ClusterKind, name: string): Promise<Explained> {
  if (cluster === undefined) return { names: [] };
  const place = { ...cluster, probe };
  try {
    return (await explain(place, name, site)) ?? { names: await namesOfKind(place, of) };
  } catch (error) {
    if (!isForbidden(error)) throw error;
    const object = `${of.kind}/${name}`;
    const step = {
      id: `${of.kind.toLowerCase()}.object`,
      state: 'unknown' as const,
      object,
      says: lackOf(cluster, 'get', of, of.namespaced ? cluster.namespace : undefined),
    };
    return { explanation: explanationOf(object, [step], new Date()), title: '', isUncertain: true };
  }
}
