/** Opens the place whose objects `explain` and `check` examine. */
import type { ExplainPlace } from '../../explain/gather/explainable-kinds.ts';
import { layoutOf } from '../../platform/linux/layout.ts';
import type { StepState } from '../../explain/step.ts';
import type { Resources } from '../../platform/resources.ts';
import { CliError } from '../errors.ts';
import type { Context } from './waiting.ts';
import { isMachine, type PlaceWords } from '../place.ts';
import { followInterrupt } from '../processes/signals.ts';
import { openCluster, openResources, platformFor } from '../resources.ts';

export interface OpenPlace extends AsyncDisposable {
  readonly resources: Resources;
  readonly place: Omit<ExplainPlace, 'probe'>;
}

export interface Examined<T> {
  readonly last: T;
  readonly isInterrupted: boolean;
}

/** Milliseconds between two attempts with `--wait`. */
const RETRY_EVERY = 500;

/** Examines again until nothing fails or waits, for `wait` milliseconds at most. Ctrl-C ends this with the last result. */
export async function examineUntil<T>(
  { resources, terminal }: Context,
  wait: number,
  examine: () => Promise<T>,
  verdictOf: (examined: T) => StepState,
): Promise<Examined<T>> {
  const end = performance.now() + wait;
  using _followed = resources.follow();
  let last = await examine();
  if (wait === 0) return { last, isInterrupted: false };
  using interrupt = followInterrupt();
  const isOver = (): boolean => !['fail', 'wait'].includes(verdictOf(last)) || performance.now() >= end;
  if (!isOver()) terminal.note('Waiting until nothing fails or waits...\n');
  while (!isOver()) {
    const next = await Promise.race([resources.wait(RETRY_EVERY).then(examine), interrupt.happened]);
    if (next === 'interrupted') return { last, isInterrupted: true };
    last = next;
  }
  return { last, isInterrupted: false };
}

/** @throws CliError interrupted */
export function requireUninterrupted({ isInterrupted }: Pick<Examined<unknown>, 'isInterrupted'>): void {
  if (isInterrupted) throw new CliError('interrupted', 'Interrupted while waiting. The result above is the last one.');
}

/** Timeout in milliseconds of requests to a cluster. */
const PATIENCE = 2_000;

export async function openPlace(words: PlaceWords): Promise<OpenPlace> {
  const resources = await openResources(words, undefined, PATIENCE);
  if (isMachine((await platformFor(words)).platform)) {
    const { machineSources } = await import('../../explain/gather/machine-sources.ts');
    const site = machineSources(layoutOf(resources.namespace), resources);
    return { resources, place: { site }, [Symbol.asyncDispose]: () => Promise.resolve() };
  }
  const [cluster, { openRouters }, { routerSources }] = await Promise.all([
    openCluster(words, PATIENCE),
    import('./open-routers.ts'),
    import('../../explain/gather/router-sources.ts'),
  ]);
  const { client, place } = cluster;
  const routers = openRouters(cluster);
  const site = { resources, ...routerSources(routers), connect: () => routers.connect() };
  return {
    resources,
    place: { site, cluster: { client, namespace: place.namespace } },
    async [Symbol.asyncDispose]() {
      routers[Symbol.dispose]();
      await client[Symbol.asyncDispose]();
    },
  };
}
