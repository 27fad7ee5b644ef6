/**
 * `make demo`: a two-node Kubernetes on this machine, Earshot, and a Redis Cluster that clients outside reach; then a namespace and this
 * machine as two sites that use each other's services. Every claim is checked; where one does not hold, the demo ends there and says so. The
 * cluster is left running.
 */
import { argumentsOf } from './arguments.ts';
import { attempt } from '../test/harness/command.ts';
import { loadExampleImages } from '../test/harness/example-images.ts';
import { HarnessError, publishCluster, startCluster, stopCluster, type Cluster } from '../test/harness/index.ts';
import { installManifest } from '../test/harness/install.ts';
import { Playground } from './demo/connection/playground.ts';
import { freePorts } from './demo/connection/ports.ts';
import { writeAndRead } from './demo/clients.ts';
import { losePod } from './demo/lose-pod.ts';
import { moveNode } from './demo/move-node.ts';
import { Narrator } from './demo/narrator.ts';
import { Shell } from './demo/shell.ts';
import { installSites, openShop } from './demo/sites/install.ts';
import { killRouter } from './demo/sites/kill-router.ts';
import { linkOffice, openOffice, useBoth } from './demo/sites/machine.ts';
import { moveLink } from './demo/sites/move-link.ts';
import { SITES_PORTS } from './demo/sites/tour.ts';
import { joinMembers, startRedis } from './demo/start-redis.ts';

const {
  values: { name },
} = argumentsOf('node scripts/demo.ts [--name CLUSTER]', { options: { name: { type: 'string', default: 'earshot' } } });
const isCheckouts = name === 'earshot';
const end = isCheckouts ? 'make cluster-stop' : `make cluster-stop NAME=${name}`;
const narrator = new Narrator(console.log);
let cluster: Cluster | undefined;
let playground: Playground | undefined;

try {
  narrator.begin('A Kubernetes cluster of two nodes on this machine');
  if (!(await attempt('redis-cli', ['--version']))) {
    throw new HarnessError('NOT_POSSIBLE_HERE', '`redis-cli` is missing (Debian: apt-get install redis-tools; `make demo` does that)');
  }
  if (await stopCluster(name)) narrator.say('A cluster was running already. It has been stopped: the demo starts over.');
  cluster = await startCluster({ name, detached: true, log: (line) => narrator.progress(line) });
  if (isCheckouts) publishCluster(cluster);
  const shell = await Shell.open(cluster, narrator);
  const tour = { cluster, narrator, shell };
  narrator.say('A real one: API server, scheduler, kubelets, containers. Each node has a network of its own; this machine is outside.');
  const columns = 'NODE:.metadata.name,VERSION:.status.nodeInfo.kubeletVersion,ADDRESS:.status.addresses[0].address';
  await shell.run(`kubectl get nodes -o custom-columns=${columns}`);

  narrator.begin('Earshot, installed from its manifest');
  narrator.say(`
    kubectl apply --server-side -f deploy/earshot.yaml: the Helm chart with its default values, for those who have no Helm at
    hand. The image is created from this checkout. Two replicas of a controller, of which one works, and a driver on each node
    that brings addresses into pods.`);
  await installManifest(cluster, (line) => narrator.progress(line));
  narrator.progress("making an image of Debian's redis-server, called redis:7 as in the example");
  await loadExampleImages(cluster);
  await shell.run('kubectl get pods --namespace earshot-system');

  narrator.begin('Six Redis servers, each with an address of its own');
  const members = await startRedis(tour);

  narrator.begin('One Redis Cluster of them, made from outside');
  await joinMembers(tour, members);

  narrator.begin('A client outside writes and reads');
  await writeAndRead(tour, members);

  narrator.begin('A pod is deleted');
  const returned = await losePod(tour, members);

  narrator.begin('A node gets another address');
  await moveNode(tour, returned);

  narrator.begin('Sites beside it');
  await installSites(tour);

  narrator.begin('A namespace as a site');
  await openShop(tour);

  narrator.begin('This machine as another');
  playground = await Playground.open(narrator, { KUBECONFIG: cluster.kubeconfig });
  const ports = await freePorts(SITES_PORTS);
  const sites = { ...tour, playground, ports, curl: `curl -sS -m 5 http://127.0.0.1:${ports.web}/` };
  await openOffice(sites);

  narrator.begin('A token, and they are linked');
  const link = await linkOffice(sites);
  await useBoth(sites);

  narrator.begin('The node of the router gets another address');
  await moveLink(sites, link);

  narrator.begin('The router is killed');
  await killRouter(sites);

  narrator.begin('Your turn');
  narrator.say(`
    This machine is no site any more, and its Redis has ended; the cluster goes on running. To look around, in this folder:

      export KUBECONFIG=${cluster.kubeconfig} PATH=$PWD/bin:${shell.binaries}:$PATH
      kubectl get listeners,pods -o wide
      kubectl exec redis-0 -c redis -- sh -c 'cd /listener; ls -l; grep -r . addresses'
      earshot --platform kubernetes -n shop status

    To make this machine a site again, docs/tutorial-kubernetes.md.

    And to end it:

      ${end}`);
} catch (error) {
  console.error(`\nThe demo failed in step ${narrator.step}\n${error instanceof Error ? error.message : String(error)}`);
  if (playground !== undefined) {
    playground.keep = true;
    console.error(`\nLogs and files of this machine's site are in ${playground.folder}`);
  }
  if (cluster !== undefined) {
    console.error(`\nThe cluster goes on running: KUBECONFIG=${cluster.kubeconfig}, logs in ${cluster.logs}. \`${end}\` ends it.`);
  }
  process.exitCode = 1;
} finally {
  await playground?.[Symbol.asyncDispose]();
  await cluster?.api.close();
}
