import { show, untilRefused, type Tour } from './tour.ts';

/** East shuts west out. @returns milliseconds until clients of west were refused */
export async function revokeWest(tour: Tour): Promise<number> {
  const { narrator, playground } = tour;
  narrator.say('East shuts west out: its certificates, its tokens and its renewals are refused from now on.');
  await playground.run('earshot -n east site revoke west');
  const begun = performance.now();
  await untilRefused(tour, 'the link has ended, and clients of west are refused');
  const out = performance.now() - begun;
  await show(tour, 'earshot -n west link status', /Error .*revoked/, 'the status of the link says that west is revoked');
  return out;
}
