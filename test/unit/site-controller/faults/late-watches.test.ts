import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Resource } from '../../../../src/kube/resource.ts';
import { handedOut, KINDS, lookOf, PlayedController, SitesApi } from '../support/played-sites.ts';
import { stories, type Deed } from './stories.ts';

/** One is replayed by `SEED=n`; `SEEDS=n` tries more of them. */
const { SEED, SEEDS = '40' } = process.env;
const seeds = SEED === undefined ? Array.from({ length: Number(SEEDS) }, (_, seed) => seed) : [Number(SEED)];

test('A controller that takes over while watches are late comes to the end that one alone comes to', async () => {
  const told = await Promise.all(
    Object.values(stories).map(async (deeds) => {
      const start = await undisturbed(deeds.slice(0, -1));
      const last = deeds.at(-1) ?? assert.fail();
      return { start, last, whole: await undisturbed([last], start) };
    }),
  );
  for (const seed of seeds) {
    const { start, last, whole } = told[seed % told.length] ?? assert.fail();
    await takenOver(seed, last, start, whole);
  }
});

async function undisturbed(deeds: readonly Deed[], from?: SitesApi): Promise<SitesApi> {
  const api = new SitesApi();
  if (from !== undefined) api.startFrom(from);
  for (const deed of deeds) {
    deed(api);
    await using controller = await PlayedController.start(api);
    await controller.lead();
    await controller.settle();
    api.collect();
    await controller.settle();
  }
  return api;
}

/**
 * One does what is asked for, as far as it gets, and its last write lands at any time. Another, whose watches were late, leads from some moment
 * on, and is late again with some kinds.
 */
async function takenOver(seed: number, deed: Deed, from: SitesApi, whole: SitesApi): Promise<void> {
  const random = randomFrom(seed);
  const some = (): readonly Resource[] => shuffled(KINDS, random).slice(0, 1 + Math.floor(random() * 4));
  const api = new SitesApi();
  api.startFrom(from);
  await using next = await PlayedController.start(api);
  const before = some();
  before.forEach((of) => next.hold(of));
  deed(api);
  await using first = await PlayedController.start(api, 1 + Math.floor(random() * (whole.writes.length + 4)));
  await first.lead();
  await first.settle();
  const late = some();
  late.forEach((of) => next.hold(of));
  await next.lead();
  const told = handedOut(api);
  const meanwhile = async (): Promise<void> => {
    for (let passes = Math.floor(random() * 4); passes > 0; passes -= 1) await next.pass();
    if (random() < 0.3) await first.land();
    if (random() < 0.5) api.collect();
  };
  for (const of of [...before, ...late]) {
    await meanwhile();
    next.release(of);
  }
  await meanwhile();
  await first.land();
  await next.settle();
  api.collect();
  await next.settle();
  const now = handedOut(api);
  const lates = `SEED=${seed}, late: ${late.map(({ plural }) => plural).join(', ')}`;
  for (const [what, value] of told) if (now.has(what)) assert.equal(now.get(what), value, `${what}, ${lates}`);
  assert.deepEqual(lookOf(api), lookOf(whole), lates);
}

function shuffled<T>(all: readonly T[], random: () => number): readonly T[] {
  return all
    .map((one) => [random(), one] as const)
    .sort(([one], [other]) => one - other)
    .map(([, one]) => one);
}

/** mulberry32 */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
