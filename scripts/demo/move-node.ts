import { readAll } from './clients.ts';
import { at, cli, readMembers, seatsSeenBy, type Member } from './redis.ts';
import type { Tour } from './tour.ts';

/** Gives a node another address, and shows that the files in its pods, and Redis with them, follow. */
export async function moveNode(tour: Tour, members: readonly Member[]): Promise<void> {
  const { cluster, narrator, shell } = tour;
  const [before, ...rest] = members;
  const elsewhere = rest.find(({ node }) => node !== before?.node);
  if (before === undefined || elsewhere === undefined) throw new TypeError('members on one node only');
  const address = `203.0.113.${10 + cluster.layout.index}`;
  narrator.say(`
    Nodes change addresses too. The demo plays the cloud and gives ${before.node} an external address, ${address}, which clients
    are to use from now on. Nothing is restarted. The pod itself waits for its file to change:`);
  await shell.run(`kubectl exec ${before.pod} -c redis -- cat /listener/default-address/address`);

  const waiting = `kubectl exec ${before.pod} -c redis -- sh -c \\
  'until [ "$(cat /listener/default-address/address)" = ${address} ]; do sleep 0.1; done; cat /listener/default-address/address'`;
  const given = AbortSignal.timeout(60_000);
  const followed = shell.run(waiting, { silent: true });
  followed.catch(() => undefined);
  const start = performance.now();
  await cluster.setNodeAddresses(before.node, [{ type: 'ExternalIP', address }, { type: 'InternalIP', address: before.address }]);
  narrator.command(waiting);
  narrator.output(await Promise.race([followed, ended(given, `${before.pod} still reads ${before.address} a minute after its node got ${address}`)]));
  const seconds = (performance.now() - start) / 1000;
  narrator.table([['FILE IN THE POD', 'BEFORE', 'AFTER'], ['/listener/default-address/address', before.address, address]]);
  narrator.claim(`the file followed ${seconds.toFixed(1)} s after the change began`, seconds < 30, `${seconds.toFixed(1)} s`);

  narrator.say('A client outside, at the new address:');
  const id = (await shell.run(`${cli(before)} cluster myid`, { silent: true })).trim();
  const reached = (await shell.run(`${cli({ ...before, address })} cluster myid`)).trim();
  narrator.claim(`${before.pod} answers there`, reached === id, reached);

  const moved = members.filter(({ node }) => node === before.node).map(({ pod }) => pod);
  narrator.say(`
    The start script looks at the file every second and hands a new address to Redis (CONFIG SET cluster-announce-ip), which tells
    the other servers. So a client that begins at a server of the other node is sent to the new address:`);
  const now = await narrator.until(`the pods of ${before.node} to announce ${address}`, async () => {
    const again = await readMembers(shell);
    const seats = await seatsSeenBy(shell, elsewhere);
    const announced = seats.filter((seat) => seat.address === address && seat.well);
    const told = again.filter((member) => moved.includes(member.pod) && member.address === address);
    return { found: announced.length === moved.length && told.length === moved.length ? again : undefined, seen: seats.map(at).join(', ') };
  });
  const read = await readAll(tour, now, elsewhere);
  const byNewAddress = read.answers.filter(({ server }) => server.startsWith(`${address}:`)).length;
  narrator.claim(`${byNewAddress} of them were answered at ${address}`, byNewAddress > 0, 'none was');
  await shell.run('kubectl get listeners -l app=redis');
}

function ended(signal: AbortSignal, why: string): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  signal.addEventListener('abort', () => reject(new Error(why)), { once: true });
  return promise;
}
