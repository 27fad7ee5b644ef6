/** A token until its Link is Ready. */
import type { Bench } from '../bench.ts';
import { closePlaces, openPair } from '../places.ts';

export async function measureLink(bench: Bench): Promise<void> {
  const { sizes, record, log } = bench;
  const places: string[] = [];
  for (let round = 1; round <= sizes.rounds; round++) {
    const { west, east, seconds } = await openPair(bench, `link-${round}`);
    places.push(west, east);
    record('link-ready', seconds);
    log(`round ${round}: a token's Link is Ready after ${seconds.toFixed(2)} s`);
  }
  await closePlaces(bench, places);
}
