import type { NodeAddress } from '../../../test/harness/index.ts';
import { DemoError } from '../narrator.ts';
import type { Shell } from '../shell.ts';
import { untilSold, untilWelcome, type SitesTour } from './tour.ts';

/** Gives the router's node another address, and shows that this machine hears of it over the link, without a token. */
export async function moveLink(tour: SitesTour, link: string): Promise<void> {
  const { cluster, narrator, shell, playground } = tour;
  const { node, addresses } = await nodeOfRouter(shell);
  const address = `203.0.113.${20 + cluster.layout.index}`;
  narrator.say(`The link goes to ${node}, on which the router of the shop runs. That node gets another address, ${address}.`);
  const start = performance.now();
  // Earlier addresses keep answering, so that no client is cut off.
  await cluster.setNodeAddresses(node, [{ type: 'ExternalIP', address }, ...addresses]);
  const show = `earshot link status ${link} -o yaml | sed -n '/^ *endpoints:/,/port:/p'`;
  const told = await narrator.until(`the link to know ${address}`, async () => {
    const { output } = await playground.attempt(show);
    return { found: output.includes(address) ? output : undefined, seen: output };
  });
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  await shell.run('kubectl -n shop get listeners.listeners.stackable.tech');
  narrator.say('The Listener has it, the certificate of the site is issued again, and the router announces it to linked sites:');
  narrator.command(show);
  narrator.output(told);
  narrator.claim(`this machine knows the new address after ${seconds} s`, true, '');
  await untilWelcome(tour, 'clients of this machine get through');
  await untilSold(tour, 'the till to sell on');
  narrator.claim('and traffic goes on as it was: a link that is up stays where it is', true, '');
}

async function nodeOfRouter(shell: Shell): Promise<{ readonly node: string; readonly addresses: readonly NodeAddress[] }> {
  const pods = "kubectl -n shop get pods -l skupper.io/component=router -o jsonpath='{.items[0].spec.nodeName}'";
  const node = await shell.run(pods, { silent: true });
  const addresses = await shell.run(`kubectl get node ${node} -o jsonpath='{.status.addresses}'`, { silent: true });
  const found: unknown = JSON.parse(addresses);
  if (!Array.isArray(found)) throw new DemoError(`expected addresses of ${node}\nbut saw: ${addresses}`);
  // As the API server has them.
  return { node, addresses: (found as readonly NodeAddress[]).filter(({ type }) => type.endsWith('IP')) };
}
