import { untilSold, WELCOME, type SitesTour } from './tour.ts';

/** Kills the only router of the shop, and shows how traffic comes back, by the address that this machine was told of. */
export async function killRouter(tour: SitesTour, address: string): Promise<void> {
  const { narrator, playground, shell, curl } = tour;
  narrator.say('The shop has one router (`ha: true` would give it two). It is killed:');
  const start = performance.now();
  // Returns when it is gone: while it ends, it may still have been the one that answers.
  await shell.run('kubectl -n shop delete pod -l skupper.io/component=router --now');
  const connections = `ss -Htn state established dst ${address}`;
  await narrator.until(`the link to come back, at ${address}`, async () => {
    const [page, link] = await Promise.all([playground.attempt(curl), playground.attempt(connections)]);
    const isBack = WELCOME.test(page.output.trim()) && link.output.includes(address);
    return { found: isBack ? true : undefined, seen: `${page.output.trim()}, connections: ${link.output.trim()}` };
  });
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  await untilSold(tour, 'the till to sell again');
  await playground.run(curl);
  narrator.claim(`traffic is back ${seconds} s after the kill, both ways`, true, '');
  await shell.run('kubectl -n shop get pods -l skupper.io/component=router');
  narrator.say('It is another pod, and the same site by its key, so no token was needed. The link goes to the address that was told:');
  await playground.run(connections);
}
