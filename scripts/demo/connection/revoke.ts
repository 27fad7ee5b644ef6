import { untilRefused, type Tour } from './tour.ts';

/** East shuts west out. */
export async function revokeWest(tour: Tour, link: string): Promise<void> {
  const { narrator, playground } = tour;
  narrator.say('East shuts west out: its certificates, its tokens and its renewals are refused from now on.');
  await playground.run('earshot -n east site revoke west');
  await untilRefused(tour, 'the link has ended, and clients of west are refused');
  const status = await narrator.until('the status of the link says why', async () => {
    const { output } = await playground.attempt(`earshot -n west link status ${link}`);
    return { found: /revoked/.test(output) ? output : undefined, seen: output };
  }, 20);
  narrator.command(`earshot -n west link status ${link}`);
  narrator.output(status);
  narrator.claim('the status of the link says that west is revoked', true, '');
}
