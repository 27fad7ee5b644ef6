import { isRecord } from '../../../src/text/is-record.ts';
import { DemoError } from '../narrator.ts';
import { untilSold, WELCOME, type SitesTour } from './tour.ts';

/** Addresses that the demo gives to nodes, and their own. A link that was made before the node moved knows both. */
const NODES = "'( dst 203.0.113.0/24 or dst 10.77.0.0/16 )'";

/** Kills the only router of the shop, and shows how traffic comes back. */
export async function killRouter(tour: SitesTour): Promise<void> {
  const { narrator, playground, shell, curl } = tour;
  narrator.say('The shop has one router (`ha: true` would give it two). It is killed:');
  const start = performance.now();
  // Returns when it is gone: while it ends, it may still have been the one that answers.
  await shell.run('kubectl -n shop delete pod -l skupper.io/component=router --now');
  // The former address leads here as well, as long as the machine has it: the first that answers is taken.
  const connections = `ss -Htnp state established ${NODES} | grep pid=${await officePid(tour)},`;
  await narrator.until('the link to come back', async () => {
    const [page, link] = await Promise.all([playground.attempt(curl), playground.attempt(connections)]);
    const isBack = WELCOME.test(page.output.trim()) && link.output.trim() !== '';
    return { found: isBack ? true : undefined, seen: `${page.output.trim()}, connections: ${link.output.trim()}` };
  });
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  await untilSold(tour, 'the till to sell again');
  await playground.run(curl);
  narrator.claim(`traffic is back ${seconds} s after the kill, both ways`, true, '');
  await shell.run('kubectl -n shop get pods -l skupper.io/component=router');
  narrator.say(
    'It is another pod, and the same site by its key, so no token was needed. The link goes to whichever address of the site answered first:',
  );
  await playground.run(connections);
}

/** The process of this machine's site: other programs here have connections to nodes too. */
async function officePid({ playground }: SitesTour): Promise<number> {
  const { output } = await playground.attempt('earshot system status -o json');
  const found: unknown = JSON.parse(output);
  const routers: unknown = isRecord(found) ? found['routers'] : undefined;
  const [first]: readonly unknown[] = Array.isArray(routers) ? routers : [];
  if (isRecord(first) && typeof first['pid'] === 'number') return first['pid'];
  throw new DemoError(`no process runs this machine's site: ${output}`);
}
