import { GREETING, type Tour } from './tour.ts';

/** A token makes the link. @returns the link's name */
export async function linkSites({ narrator, playground, curl }: Tour): Promise<string> {
  narrator.say('East issues a token: one small file, good for one link within 15 minutes. Whoever has it can link, so carry it by a safe way.');
  await playground.run('earshot -n east token issue token.yaml');
  narrator.say('West redeems it, and gets a client certificate from the certificate authority of east. From then on there is a link, mutual TLS 1.3:');
  const redeemed = await playground.run('earshot -n west token redeem token.yaml');
  const link = /^Link "([^"]+)" is ready/m.exec(redeemed)?.[1] ?? '';
  narrator.claim('the link is ready', link !== '', redeemed);
  const page = await playground.run(curl);
  narrator.claim('a client of west reads what the server behind east says', page.trim() === GREETING, page);
  return link;
}

/** What the command line shows of it, from each side. */
export async function lookAround({ narrator, playground }: Tour): Promise<void> {
  narrator.say('How it looks from west:');
  const status = await playground.run('earshot -n west status');
  narrator.claim('link and listener are Ready', (status.match(/\bReady\b/g) ?? []).length >= 3 && !/Pending|Error/.test(status), status);
  narrator.say('And the whole network, as east sees it:');
  const network = await playground.run('earshot -n east network');
  narrator.claim('east and west see each other, and who has what of the key "web"', /^web +east +west$/m.test(network), network);
}
