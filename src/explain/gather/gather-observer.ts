/** Gathers the facts about NetworkObservers of a namespace with the rights of the user, and explains them. */
import { networkObservers, type NetworkObserver } from '../../api/skupper/network-observer.ts';
import { pods, secrets, services } from '../../kube/resource.ts';
import { selectorOfConsole, PASSWORD_KEY } from '../../site-controller/observer/observer-names.ts';
import { readObserverSpec } from '../../site-controller/observer/observer-spec.ts';
import { parsePasswordFile } from '../../text/password-file.ts';
import { explainObserver, type ObserverFacts, type UserCounts } from '../connection/explain-observer.ts';
import type { SiteFacts } from '../connection/site-facts.ts';
import type { CheckReport } from '../report.ts';
import type { ExplainPlace } from './explainable-kind.ts';
import { find, list, listAll, mapped, selectorText, type ExposurePlace } from './gather-exposure.ts';
import { findServed } from './served-definitions.ts';

/** Maximum number of NetworkObservers that are explained. A namespace has at most 4. */
const MOST_EXPLAINED = 8;

export async function gatherObserver(place: ExposurePlace, observer: NetworkObserver): Promise<ObserverFacts> {
  const { namespace } = place;
  const spec = readObserverSpec(observer);
  const [users, tls, running, service] = await Promise.all([
    find(place, secrets, spec.users.secret),
    find(place, secrets, spec.tls.secret),
    list(place, pods, { namespace, labelSelector: selectorText(selectorOfConsole(spec.name)) }),
    find(place, services, spec.name),
  ]);
  return { observer, users: mapped(users, (secret) => secret && countUsers(secret.data ?? {})), tls, pods: running, service };
}

function countUsers(data: Readonly<Record<string, string>>): UserCounts {
  const { users, unsupported } = parsePasswordFile(Buffer.from(data[PASSWORD_KEY] ?? '', 'base64').toString('utf8'));
  return { users: users.size, unsupported };
}

/** Explains all NetworkObservers of the namespace. Returns none on a machine, and in a cluster without the definition. */
export async function checkObservers({ cluster }: ExplainPlace, site: SiteFacts): Promise<Pick<CheckReport, 'objects' | 'findings'>> {
  if (cluster === undefined) return { objects: [], findings: [] };
  const { client, namespace } = cluster;
  if ((await findServed(client, namespace, [networkObservers])).length === 0) return { objects: [], findings: [] };
  const place: ExposurePlace = { client, namespace, probe: false };
  const found = await listAll(place, networkObservers);
  if ('unknown' in found)
    return { objects: [], findings: [{ id: 'check.rights', object: `namespace/${namespace}`, state: 'unknown', says: found.unknown }] };
  const facts = await Promise.all(found.value.slice(0, MOST_EXPLAINED).map((observer) => gatherObserver(place, observer)));
  return { objects: facts.map((each) => explainObserver(site, each)), findings: [] };
}
