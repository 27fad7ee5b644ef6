/** Kinds of the exposure half that can be explained. They exist in clusters only. */
import { customResourceDefinitions } from '../../api/listeners/crds.ts';
import { listenerClasses, listeners } from '../../api/listeners/index.ts';
import { persistentVolumeClaims, pods, wholeName, type Resource } from '../../kube/resource.ts';
import { isForbidden } from '../../kube/errors.ts';
import { explanationOf } from '../chain.ts';
import { explainClaim } from '../exposure/explain-claim.ts';
import { explainClass } from '../exposure/explain-class.ts';
import { explainListener, listenerTitle } from '../exposure/explain-listener.ts';
import { explainPod } from '../exposure/explain-pod.ts';
import type { Explanation } from '../step.ts';
import type { ExplainableKind, ExplainPlace, Explained } from './explainable-kind.ts';
import { gatherClaim, gatherClass, gatherListener, gatherPod, lackOf, namesOfKind, type ExposurePlace } from './gather-exposure.ts';

type Explain = (place: ExposurePlace, name: string) => Promise<{ readonly explanation: Explanation; readonly title: string } | undefined>;

const explainers: readonly (readonly [of: Resource, words: readonly string[], explain: Explain])[] = [
  [
    listenerClasses,
    wordsOf(listenerClasses),
    async (place, name) => {
      const facts = await gatherClass(place, name);
      return facts && { explanation: explainClass(facts), title: facts.listenerClass.spec.serviceType };
    },
  ],
  [
    listeners,
    wordsOf(listeners),
    async (place, name) => {
      const facts = await gatherListener(place, name);
      return facts && { explanation: explainListener(facts), title: listenerTitle(facts) };
    },
  ],
  [
    pods,
    ['pod', 'pods', 'po'],
    async (place, name) => {
      const facts = await gatherPod(place, name);
      return (
        facts && { explanation: explainPod(facts), title: facts.pod.spec?.nodeName === undefined ? '' : `node ${facts.pod.spec.nodeName}` }
      );
    },
  ],
  [
    persistentVolumeClaims,
    ['volume', 'volumes', 'claim', 'persistentvolumeclaims', 'pvc', 'persistentvolumeclaim'],
    async (place, name) => {
      const facts = await gatherClaim(place, name);
      return facts && { explanation: explainClaim(facts), title: '' };
    },
  ],
];

export const exposureKinds: readonly ExplainableKind[] = explainers.map(([of, words, explain]) => ({
  kind: of.kind,
  words,
  half: 'exposure',
  needsCluster: true,
  listedBy: ({ cluster }) => `\`kubectl ${of.namespaced ? `-n ${cluster?.namespace ?? 'NAMESPACE'} ` : ''}get ${wholeName(of)}\``,
  explain: (place, name) => explainOne(place, of, name, explain),
}));

/** A missing right to the object itself is a step too. */
async function explainOne({ cluster, probe }: ExplainPlace, of: Resource, name: string, explain: Explain): Promise<Explained> {
  if (cluster === undefined) return { names: [] };
  const place = { ...cluster, probe };
  try {
    return (await explain(place, name)) ?? { names: await namesOfKind(place, of) };
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

function wordsOf(of: Resource): readonly string[] {
  const names = customResourceDefinitions().find(({ spec }) => spec.names.plural === of.plural)?.spec.names;
  return [...(names === undefined ? [] : [names.singular, names.plural, ...names.shortNames]), `${of.plural}.${of.group}`];
}
