/** Mounts that wait, beside other pods of the same claim on the same node. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Status } from 'nice-grpc-common';
import { ApiError } from '../../../../src/kube/errors.ts';
import { ip, NodeFixture, POD_KEY, rejects, startDriver, until, type RunningDriver } from './node-fixture.ts';

const VOLUME = 'pvc-1';
/** Milliseconds; a test ends earlier. */
const NEVER = 600_000;
/** Milliseconds. Sixteen tests share one process. */
const PATIENCE = 110_000;
const ENDING = { reason: 'PodEnding', message: 'Pod default/web-0 is being deleted.' };

describe('a mount that waits', () => {
  it('ends at once when its pod is deleted, and is not waited for again', async () => {
    using fixture = new NodeFixture();
    await using driver = await startDriver(fixture);
    const refusal = rejects(driver.node.nodePublishVolume(fixture.request()), Status.ABORTED, ENDING.message);
    await until(() => fixture.cache.get(POD_KEY) !== undefined);
    fixture.mark(POD_KEY, VOLUME, ENDING);
    await refusal;
    await rejects(driver.node.nodePublishVolume(fixture.request()), Status.ABORTED, ENDING.message);
    assert.ok(!existsSync(fixture.target()));
  });

  it('ends at once when its request is deleted, as after a forced deletion of the pod', async () => {
    using fixture = new NodeFixture();
    await using driver = await startDriver(fixture);
    const refusal = rejects(driver.node.nodePublishVolume(fixture.request()), Status.ABORTED, 'was deleted');
    await until(() => fixture.cache.get(POD_KEY) !== undefined);
    fixture.lose();
    await refusal;
  });

  it('is refused in a namespace that is being deleted, with that as the reason', async () => {
    using fixture = new NodeFixture();
    await using driver = await startDriver(fixture);
    const causes = ['NamespaceTerminating'];
    fixture.api.failures.push(new ApiError('test', { status: 403, reason: 'Forbidden', message: 'no', causes }));
    await rejects(driver.node.nodePublishVolume(fixture.request()), Status.ABORTED, 'Namespace default is being deleted');
  });
});

/** Act of a pod before its address comes. A deleted one was waiting, a stopped one was running. */
const STATES = ['waiting', 'running', 'deleted', 'stopped', 'forced'] as const;
type State = (typeof STATES)[number];

/** The states of two and of three pods, whatever their order. */
function combinations(): readonly (readonly State[])[] {
  const pairs = STATES.flatMap((one, index) => STATES.slice(index).map((two): readonly State[] => [one, two]));
  const triples = pairs.flatMap((pair) =>
    STATES.slice(STATES.indexOf(pair[1] ?? 'forced')).map((three): readonly State[] => [...pair, three]),
  );
  return [...pairs, ...triples].filter((states) => states.includes('waiting') || states.includes('deleted') || states.includes('forced'));
}

describe('the kubelet, which runs one operation at a time on a volume, gets each done in time', { concurrency: 16 }, () => {
  for (const states of combinations()) {
    for (const order of [states, states.toReversed()]) {
      it(order.join(', '), async () => {
        using fixture = new NodeFixture();
        await using driver = await startDriver(fixture, { waitMilliseconds: NEVER });
        await using kubelet = new OneVolume(driver, fixture);
        const pods = order.map((state, index) => kubelet.add(`web-${index}`, state));
        const had = pods.filter(({ state }) => state === 'running' || state === 'stopped');
        await kubelet.until('those that run have their volume', () => had.every(({ isMounted }) => isMounted));
        await kubelet.until('the others have asked', () => pods.every(({ key }) => fixture.cache.get(key) !== undefined || kubelet.isBusy));
        for (const pod of pods) if (pod.state !== 'waiting' && pod.state !== 'running') kubelet.delete(pod);
        await kubelet.until('no deleted pod is left', () => pods.every(({ isWanted, isKnown }) => isWanted || !isKnown));
        kubelet.address = '10.0.0.1';
        await kubelet.until('all others have their volume', () => pods.every(({ isWanted, isMounted }) => isMounted === isWanted));
        for (const { isWanted, uid } of pods) {
          const shown = join(fixture.target(VOLUME, uid), 'default-address/address');
          assert.equal(existsSync(shown) ? readFileSync(shown, 'utf8') : undefined, isWanted ? '10.0.0.1' : undefined);
        }
      });
    }
  }
});

interface PlayedPod {
  readonly name: string;
  readonly uid: string;
  readonly key: string;
  readonly state: State;
  isWanted: boolean;
  isMounted: boolean;
  /** Whether the kubelet has something to unmount. */
  isKnown: boolean;
}

/**
 * The kubelet's loop over the operations of one volume (nestedpendingoperations.go), without its pauses, and a controller. A mount that
 * is held to its end lasts longer than the test does. Seconds are compared in simulated time (test/fake-cluster/delays.ts).
 */
class OneVolume implements AsyncDisposable {
  readonly #pods: PlayedPod[] = [];
  readonly #stopped = new AbortController();
  readonly #ended: Promise<void>;
  /** The controller's view. */
  address: string | undefined;
  isBusy = false;
  /** Resolves when a pod is added or deleted, and at the end. */
  #changed = Promise.withResolvers<void>();
  readonly #driver: RunningDriver;
  readonly #fixture: NodeFixture;

  constructor(driver: RunningDriver, fixture: NodeFixture) {
    this.#driver = driver;
    this.#fixture = fixture;
    this.#ended = this.#run();
  }

  add(name: string, state: State): PlayedPod {
    const uid = `0f1e2d3c-0000-4000-8000-00000000000${this.#pods.length}`;
    const pod = { name, uid, key: `default/pod-${uid}`, state, isWanted: true, isMounted: false, isKnown: false };
    this.#pods.push(pod);
    this.#wake();
    return pod;
  }

  delete(pod: PlayedPod): void {
    pod.isWanted = false;
    this.#wake();
  }

  #wake(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  until(what: string, condition: () => boolean): Promise<void> {
    const look = (): boolean => {
      this.#answer();
      return condition();
    };
    return until(Object.assign(look, { toString: () => what }), PATIENCE);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped.abort();
    this.#wake();
    await this.#ended;
  }

  /** Acts as the controller and the garbage collector. */
  #answer(): void {
    for (const { name, key, state, isWanted } of this.#pods) {
      const object = this.#fixture.cache.get(key);
      if (object === undefined) continue;
      if (!isWanted) {
        if (state === 'forced') this.#fixture.lose(key);
        else this.#fixture.mark(key, VOLUME, { reason: 'PodEnding', message: `Pod default/${name} is being deleted.` });
        continue;
      }
      const wasGiven = Object.keys(object?.spec.listeners ?? {}).length > 0;
      const given = state === 'running' || state === 'stopped' ? '10.0.0.1' : this.address;
      if (!wasGiven && given !== undefined) this.#fixture.change(VOLUME, [ip(given)], key);
    }
  }

  async #run(): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      const next = this.#pods.find((pod) => !pod.isWanted && pod.isKnown) ?? this.#next();
      if (next === undefined) {
        await this.#changed.promise;
        continue;
      }
      this.isBusy = true;
      if (next.isWanted) await this.#mount(next);
      else await this.#unmount(next);
      this.isBusy = false;
    }
  }

  /** Those that wait come last where others can be mounted at once, as in the order of their starts; then each in its turn. */
  #next(): PlayedPod | undefined {
    const wanted = this.#pods.filter((pod) => pod.isWanted && !pod.isMounted);
    const runs = wanted.find(({ state }) => state === 'running' || state === 'stopped');
    const next = runs ?? wanted[0];
    if (next !== undefined && runs === undefined) this.#pods.push(...this.#pods.splice(this.#pods.indexOf(next), 1));
    return next;
  }

  async #mount(pod: PlayedPod): Promise<void> {
    pod.isKnown = true;
    try {
      await this.#driver.node.nodePublishVolume(this.#fixture.requestOf(pod.name, pod.uid), { signal: this.#stopped.signal });
      pod.isMounted = true;
    } catch {
      // Tried again, like everything here.
    }
  }

  async #unmount(pod: PlayedPod): Promise<void> {
    await this.#driver.node.nodeUnpublishVolume({ volumeId: VOLUME, targetPath: this.#fixture.target(VOLUME, pod.uid) });
    pod.isMounted = false;
    pod.isKnown = false;
    if (this.#fixture.cache.get(pod.key) !== undefined) this.#fixture.lose(pod.key);
  }
}
