import { startSite } from '../connection/tour.ts';
import { DemoError } from '../narrator.ts';
import { untilSold, untilWelcome, WELCOME, type SitesTour } from './tour.ts';

/** This machine becomes a site that accepts no links, and has a Redis. */
export async function openOffice(tour: SitesTour): Promise<void> {
  const { narrator, playground, ports } = tour;
  narrator.say(
    'This machine is not part of the cluster, and unreachable from outside: it accepts no links. A Redis runs on it, on a loopback address.',
  );
  await playground.start(`redis-server --bind 127.0.0.1 --port ${ports.redis} --save '' --dir .`, 'redis');
  await playground.run('earshot site create office');
  await playground.run(`earshot connector create cache ${ports.redis} --host 127.0.0.1`);
  await playground.run(`earshot listener create web ${ports.web} --host 127.0.0.1`);
  await startSite(tour, 'default', 'office');
}

/** A token of the namespace, redeemed here. @returns the link's name */
export async function linkOffice({ narrator, playground }: SitesTour): Promise<string> {
  narrator.say('The same command line asks the cluster for a token. This needs the right to create an AccessGrant in the namespace:');
  await playground.run('earshot --platform kubernetes -n shop token issue token.yaml');
  const redeemed = await playground.run('earshot token redeem token.yaml');
  const link = /^Link "([^"]+)" is ready/m.exec(redeemed)?.[1];
  if (link === undefined) throw new DemoError(`expected: the link is ready\nbut saw: ${redeemed}`);
  return link;
}

/** A client on this machine reaches pods, and a pod a server on this machine. */
export async function useBoth(tour: SitesTour): Promise<void> {
  const { narrator, playground, shell, curl } = tour;
  await untilWelcome(tour, 'clients of this machine get through');
  const page = await playground.run(curl);
  narrator.claim('a pod of the cluster answers at localhost of this machine', WELCOME.test(page.trim()), page);
  await untilSold(tour, 'the till to sell');
  narrator.say('And the till goes on as if that Redis were in its namespace:');
  const cluster = await shell.run('kubectl -n shop logs deployment/till --tail=1');
  const here = await playground.run(`redis-cli -p ${tour.ports.redis} get sales`);
  narrator.claim(
    'what a pod writes to the Service "cache" is in the Redis of this machine',
    /^\d+$/.test(cluster.trim()) && Number(here) > 0,
    here,
  );
  narrator.say('The whole network, from here:');
  await playground.run('earshot network');
}
