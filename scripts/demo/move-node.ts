import { readAll } from './clients.ts';
import { DemoError } from './narrator.ts';
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

  const { seconds, found } = await timeToFile(tour, before, address);
  narrator.table([
    ['FILE IN THE POD', 'BEFORE', 'AFTER'],
    ['/listener/default-address/address', before.address, found],
  ]);
  narrator.claim(`the file followed within ${seconds.toFixed(1)} s`, found === address, found);

  narrator.say('A client outside, at the new address:');
  const id = (await shell.run(`${cli(before)} cluster myid`, { silent: true })).trim();
  const reached = (await shell.run(`${cli({ ...before, address })} cluster myid`)).trim();
  narrator.claim(`${before.pod} answers there`, reached === id, reached);

  const moved = members.filter(({ node }) => node === before.node).map(({ pod }) => pod);
  narrator.say(`
    The start script looks at the file every second and hands a new address to Redis (CONFIG SET cluster-announce-ip), which tells
    the other servers within some seconds. Then a client that begins at a server of the other node is sent to the new address:`);
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

/** Changes the node's address while the pod watches its file; seconds from before the change until the pod has reported it. */
async function timeToFile(tour: Tour, member: Member, address: string): Promise<{ readonly seconds: number; readonly found: string }> {
  const { cluster, narrator, shell } = tour;
  const command = `kubectl exec ${member.pod} -c redis -- sh -c 'cd /listener; echo waiting
  while [ "$(cat default-address/address)" = ${member.address} ]; do sleep 0.1; done; cat default-address/address; echo'`;
  narrator.command(command);
  let start = performance.now();
  for await (const line of shell.follow(command, 60)) {
    if (line !== 'waiting') {
      const seconds = (performance.now() - start) / 1000;
      narrator.output(`waiting\n${line}`);
      return { seconds, found: line };
    }
    start = performance.now();
    await cluster.setNodeAddresses(member.node, [
      { type: 'ExternalIP', address },
      { type: 'InternalIP', address: member.address },
    ]);
  }
  throw new DemoError(`a minute after its node got the address ${address}, ${member.pod} still reads ${member.address}`);
}
