import { at, cli, READ_VOLUME, readMembers, untilWhole, type Member } from './redis.ts';
import type { Tour } from './tour.ts';

/** Starts six Redis servers from the example, and shows that each knows where it is reached. */
export async function startRedis({ cluster, narrator, shell }: Tour): Promise<readonly Member[]> {
  narrator.say(`
    Redis Cluster spreads its keys over several servers, and each server tells clients the addresses of the others. Pod addresses
    are of no use to a client outside, so each pod needs an address and ports of its own, and must know them.
    In the manifest, that is an annotation on the claim template (the class of exposure) and a volume at /listener.`);
  await shell.run('kubectl apply -f examples/redis-cluster/');
  await shell.run('kubectl rollout status statefulset/redis --timeout=120s', { head: 1, tail: 1 });
  await shell.run('kubectl get pods -l app=redis -o custom-columns=POD:.metadata.name,NODE:.spec.nodeName,POD-IP:.status.podIP');

  narrator.say('Earshot made a Listener for each pod, and a Service with node ports behind it:');
  await shell.run('kubectl get listeners -l app=redis');

  narrator.say('What the pods find in their volumes: the public address, the port for clients, the port for the other servers.');
  await shell.run(`for i in 0 1 2 3 4 5; do
  kubectl exec redis-$i -c redis -- sh -c '${READ_VOLUME}'
done`);

  const members = await readMembers(shell);
  const addressesOf = (node: string): readonly string[] => cluster.nodes.find(({ name }) => name === node)?.addresses ?? [];
  const seen = members.map((member) => `${member.pod} ${at(member)}`).join(', ');
  narrator.claim('six servers, no two with the same address and port', new Set(members.map(at)).size === 6, seen);
  const isToldOwnNode = members.every(({ node, address }) => addressesOf(node).includes(address));
  narrator.claim('each has received the address of the node on which it runs', isToldOwnNode, seen);
  const placement = members.map(({ pod, node }) => `${pod} on ${node}`).join(', ');
  narrator.claim('they run on two nodes', new Set(members.map(({ node }) => node)).size === 2, placement);
  return members;
}

/** Joins them, from outside, by nothing but the addresses from the volumes. */
export async function joinMembers(tour: Tour, members: readonly Member[]): Promise<void> {
  const { narrator, shell } = tour;
  narrator.say(`
    This machine is not part of the cluster: it reaches nodes, but no pods. The servers are joined to one Redis Cluster (three
    masters, a replica for each) from here, by the addresses from their volumes.`);
  for (const member of members) {
    const said = (await shell.run(`${cli(member)} ping`, { silent: true })).trim();
    if (said !== 'PONG') narrator.claim(`${member.pod} answers at ${at(member)}`, false, said);
  }
  narrator.claim('all six answer a ping at those addresses from outside', true, '');
  const places = members.map(at);
  const created = await shell.run(
    `redis-cli --cluster create --cluster-yes --cluster-replicas 1 \\
  ${places.slice(0, 3).join(' ')} \\
  ${places.slice(3).join(' ')}`,
    { head: 7, tail: 5 },
  );
  const isCovered = created.includes('[OK] All 16384 slots covered.');
  narrator.claim('the servers agree, and all 16,384 slots have a master', isCovered, created.slice(-400));

  const [seats = []] = await untilWhole(tour, members);
  const announced = seats.map(at).sort();
  const isAsTold = announced.join() === places.toSorted().join();
  narrator.claim('what they announce to each other and to clients is what their volumes say', isAsTold, announced.join(', '));
}
