import { setImmediate as turn } from 'node:timers/promises';

import { startClusterCaches, startPolicyCaches, startProvisionCaches } from '../../../../src/exposure/cluster/caches.ts';
import { startController } from '../../../../src/exposure/controller.ts';
import type { EventRecorder } from '../../../../src/kube/contract.ts';
import type { ObjectReference } from '../../../../src/kube/objects.ts';
import { startInformer } from '../../../../src/kube/watch/informer.ts';
import { createLogger } from '../../../../src/telemetry/log.ts';
import type { PlayedApi } from './played-api.ts';

/** The controller itself, its caches and queues, on an API server that is played. */
export interface PlayedController extends AsyncDisposable {
  /** Reason and note of each Kubernetes event. */
  readonly events: readonly string[];
  /** Objects of the events. */
  readonly regarding: readonly ObjectReference[];
  /** Resolves once nothing is called any more; a call that the test holds back counts for nothing. Fails after `most` calls. */
  settle(most?: number): Promise<void>;
}

/** Turns of the event loop in which nothing is called: an answer takes a few to become the next call. */
const QUIET_TURNS = 20;
const MOST_CALLS = 1_000;
/** Reconciles of one kind at a time. */
export const CONCURRENCY = 4;

/** `provisions`: makes volumes itself. `clock`: the one by which it paces itself, in milliseconds. */
export async function playController(
  api: PlayedApi,
  { provisions = false, clock }: { readonly provisions?: boolean; readonly clock?: () => number } = {},
): Promise<PlayedController> {
  const end = new AbortController();
  const events: string[] = [];
  const regarding: ObjectReference[] = [];
  const recorder: EventRecorder = {
    record(event) {
      events.push(`${event.reason}: ${event.note}`);
      regarding.push(event.regarding);
    },
    [Symbol.asyncDispose]: async () => undefined,
  };
  const caches = startClusterCaches(startInformer, api, startPolicyCaches(startInformer, api, end.signal), end.signal);
  const controller = await startController({
    client: api,
    caches,
    provision: provisions ? startProvisionCaches(startInformer, api, end.signal) : undefined,
    events: recorder,
    clusterDomain: 'cluster.local',
    log: createLogger({ level: 'silent', component: 'test' }),
    concurrency: CONCURRENCY,
    ...(clock === undefined ? {} : { clock }),
  });
  return {
    events,
    regarding,
    async settle(calls = MOST_CALLS) {
      const most = api.calls.length + calls;
      for (let quiet = 0, before = -1; quiet < QUIET_TURNS; quiet++) {
        await turn();
        if (api.calls.length > most) throw new Error(`it does not come to rest: ${api.calls.slice(-3).join(', ')}`);
        if (api.calls.length !== before) quiet = 0;
        before = api.calls.length;
      }
    },
    async [Symbol.asyncDispose]() {
      await controller.stop(0);
      end.abort(new Error('the test is over'));
    },
  };
}
