/** The kind NetworkObserver, for explanations. It exists in clusters only. */
import { networkObserverDefinition } from '../../api/skupper/network-observer-definition.ts';
import { networkObservers } from '../../api/skupper/network-observer.ts';
import { wholeName } from '../../kube/resource.ts';
import { explainObserver } from '../connection/explain-observer.ts';
import { clusterKind } from './cluster-kind.ts';
import { gatherObserver } from './gather-observer.ts';
import { gatherSite } from './gather-site.ts';

const { singular, plural } = networkObserverDefinition().spec.names;

export const observerKind = clusterKind({
  of: networkObservers,
  words: [singular, plural, wholeName(networkObservers)],
  half: 'connection',
  explain: async (place, name, sources) => {
    const [observer, site] = await Promise.all([
      place.client.find(networkObservers, { namespace: place.namespace, name }),
      gatherSite(sources),
    ]);
    return observer && { explanation: explainObserver(site, await gatherObserver(place, observer)), title: '' };
  },
});
