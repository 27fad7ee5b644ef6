import type { Tour } from '../tour.ts';

/** The connection half beside the exposure half that is there, from its manifest. */
export async function installSites({ narrator, shell }: Tour): Promise<void> {
  narrator.say(`
    The other half of Earshot joins sites: machines, and namespaces of clusters. It has a controller of its own, and a manifest:`);
  await shell.run('kubectl apply --server-side -f deploy/earshot-sites.yaml', { head: 2, tail: 1 });
  narrator.say(`
    This machine has to reach the controller, to redeem a token there. This cluster has no load balancers; it has ListenerClasses:`);
  await shell.run('kubectl -n skupper set env deployment/skupper-controller SKUPPER_DEFAULT_ACCESS_TYPE=listenerclass:external-unstable');
  await shell.run('kubectl -n skupper rollout status deployment/skupper-controller --timeout=120s', { head: 0, tail: 1 });
}

/** Two pods with a web page, one that wants a Redis, and the Site that makes their namespace a place in the network. */
export async function openShop({ narrator, shell }: Tour): Promise<void> {
  narrator.say(`
    In shop.yaml are a web server and a till, which counts its sales in a Redis called "cache" that is nowhere in this cluster. Then
    a Site, a Connector that offers the web server to other sites, and a Listener that makes the Service "cache".`);
  await shell.run(`kubectl create namespace shop
kubectl -n shop apply -f examples/kubernetes/shop.yaml`);
  await shell.run(
    `kubectl -n shop wait site/shop --for=condition=Ready --timeout=60s
kubectl -n shop rollout status deployment/web deployment/till --timeout=60s`,
    { head: 1, tail: 1 },
  );
  await shell.run('kubectl -n shop get sites.skupper.io,lnr,connectors.skupper.io');
  narrator.say('`linkAccess: listenerclass:external-unstable` made a Listener of the exposure half for its router, with a port of a node:');
  await shell.run('kubectl -n shop get listeners.listeners.stackable.tech');
  const said = await shell.run('kubectl -n shop logs deployment/till --tail=1', { silent: true });
  narrator.claim('the till finds the Service, and no server behind it yet', /refused/i.test(said) || said === '', said);
}
