import { readAll } from './clients.ts';
import { DemoError } from './narrator.ts';
import { at, cli, readMembers, untilWhole, type Member } from './redis.ts';
import type { Tour } from './tour.ts';

/** Deletes the pod of a master, and shows what of it is new and what stayed. */
export async function losePod(tour: Tour, members: readonly Member[]): Promise<readonly Member[]> {
  const { narrator, shell } = tour;
  const [before, other] = members;
  if (before === undefined || other === undefined) throw new TypeError('no members');
  const { pod } = before;
  narrator.say(`
    Pods come and go. The claim of ${pod} stays, and with it the Listener, the node ports and the node on which the pod may run.
    Clients and the other five servers still know the old address; is it also the new one?`);
  const id = (await shell.run(`${cli(before)} cluster myid`)).trim();
  await shell.run(`kubectl delete pod ${pod}`);
  await shell.run(`kubectl wait --for=create pod/${pod} --timeout=60s && kubectl wait --for=condition=Ready pod/${pod} --timeout=60s`);

  const again = await readMembers(shell);
  const after = again.find((member) => member.pod === pod);
  if (after === undefined) throw new DemoError(`${pod} is not among the pods: ${again.map((member) => member.pod).join(', ')}`);
  const idAfter = (await shell.run(`${cli(before)} cluster myid`)).trim();
  narrator.table([
    [pod, 'BEFORE', 'AFTER'],
    ['pod uid', before.uid, after.uid],
    ['pod IP', before.podIp, after.podIp],
    ['node', before.node, after.node],
    ['address and port in its volume', at(before), at(after)],
    ['port for the other servers', before.busPort, after.busPort],
    ['who answers there', `member ${id.slice(0, 8)}`, `member ${idAfter.slice(0, 8)}`],
  ]);
  narrator.claim('it is another pod', after.uid !== before.uid, after.uid);
  const isSamePlace = at(after) === at(before) && after.busPort === before.busPort;
  narrator.claim('at the same address and ports', isSamePlace, `${at(after)} and ${after.busPort}`);
  narrator.claim('and the same member of the Redis Cluster answers there', idAfter === id, idAfter);

  await untilWhole(tour, again);
  narrator.say('The servers found each other again. All keys, asked of the new pod first:');
  await readAll(tour, again, after);
  return again;
}
