import { GREETING, show, untilServed, type Tour } from './tour.ts';

/** A token makes the link. @returns the link's name */
export async function linkSites(tour: Tour): Promise<string> {
  const { narrator, playground, curl } = tour;
  narrator.say(
    'East issues a token: one small file, good for one link within 15 minutes. Any site that has it can link, so carry it by a safe way.',
  );
  await playground.run('earshot -n east token issue token.yaml');
  narrator.say(
    'West redeems it, and gets a client certificate from the certificate authority of east. From then on there is a link, mutual TLS 1.3:',
  );
  const redeemed = await playground.run('earshot -n west token redeem token.yaml');
  const link = /^Link "([^"]+)" is ready/m.exec(redeemed)?.[1] ?? '';
  narrator.claim('the link is ready', link !== '', redeemed);
  await untilServed(tour, 'clients of west get through');
  const page = await playground.run(curl);
  narrator.claim('a client of west reads what the server behind east says', page.trim() === GREETING, page);
  return link;
}

/** What the command line shows of it, from each side. */
export async function lookAround(tour: Tour): Promise<void> {
  const { narrator } = tour;
  narrator.say('How it looks from west:');
  await show(
    tour,
    'earshot -n west status',
    /^Status: +Ready$[^]*^\S+ +Ready +\d+ +east[^]*^web .* Ready /m,
    'site, link and listener are Ready',
  );
  narrator.say('And the whole network, as east sees it:');
  await show(tour, 'earshot -n east network', /^web +east +west$/m, 'east and west see each other, and who has what of the key "web"');
}
