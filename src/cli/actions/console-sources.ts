/** Parts that the sources of consoles on machines and in clusters share. */
import type { UserAccess } from '../../console/access.ts';
import type { ConsoleSources } from '../../console/sources.ts';
import { explainableKinds, type ExplainPlace } from '../../explain/gather/explainable-kinds.ts';
import type { AskableRouters } from '../../platform/resources.ts';
import type { Explanation } from '../../explain/step.ts';

export interface OpenSources extends AsyncDisposable {
  readonly sources: ConsoleSources;
  readonly isMachine: boolean;
  /** Access for users of a cluster. Default: one-time links. */
  readonly users?: UserAccess;
}

/** Milliseconds. A router waits at most 5 s for other sites. */
const OBSERVE_PATIENCE = 7_000;

/** Answer of `POST /v1/observe`. @throws as `ask` */
export function observeSite(routers: Pick<AskableRouters, 'ask'>, router: string, site: string): Promise<unknown> {
  return routers.ask(router, `/v1/observe?site=${encodeURIComponent(site)}`, 'POST', AbortSignal.timeout(OBSERVE_PATIENCE));
}

/** @param kind as in `KIND/NAME` of an explanation, or an unambiguous word for it @returns undefined if the object does not exist */
export async function explainObject(place: ExplainPlace, kind: string, name: string): Promise<Explanation | undefined> {
  const found = await explainableKinds
    .filter(({ needsCluster }) => needsCluster === undefined || place.cluster !== undefined)
    .find((each) => each.kind === kind || each.words.at(-1) === kind)
    ?.explain(place, name);
  return found !== undefined && 'explanation' in found ? found.explanation : undefined;
}
