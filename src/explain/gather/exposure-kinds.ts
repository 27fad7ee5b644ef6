/** Kinds of the exposure half that can be explained. They exist in clusters only. */
import { customResourceDefinitions } from '../../api/listeners/crds.ts';
import { listenerClasses, listeners } from '../../api/listeners/index.ts';
import { persistentVolumeClaims, pods, type Resource } from '../../kube/resource.ts';
import { explainClaim } from '../exposure/explain-claim.ts';
import { explainClass } from '../exposure/explain-class.ts';
import { explainListener, listenerTitle } from '../exposure/explain-listener.ts';
import { explainPod } from '../exposure/explain-pod.ts';
import { clusterKind, type ClusterKind } from './cluster-kind.ts';
import type { ExplainableKind } from './explainable-kind.ts';
import { gatherClaim, gatherClass, gatherCommon, gatherListener, gatherPod } from './gather-exposure.ts';
import { findRefusedWorkloads } from './refused-workloads.ts';

const explainers: readonly (readonly [of: Resource, words: readonly string[], explain: ClusterKind['explain']])[] = [
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
      const facts = await gatherListener(place, name, { common: gatherCommon(place), workloads: findRefusedWorkloads(place) });
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

export const exposureKinds: readonly ExplainableKind[] = explainers.map(([of, words, explain]) =>
  clusterKind({ of, words, half: 'exposure', explain }),
);

function wordsOf(of: Resource): readonly string[] {
  const names = customResourceDefinitions().find(({ spec }) => spec.names.plural === of.plural)?.spec.names;
  return [...(names === undefined ? [] : [names.singular, names.plural, ...names.shortNames]), `${of.plural}.${of.group}`];
}
