/**
 * `make demo-containers`: a site on this machine, a site in containers of Podman, and two containers of a network that reach a server of the
 * first by name. Every claim is checked. Nothing is left behind. Without Podman it says so and ends.
 */
import { constants } from 'node:os';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Playground } from './demo/connection/playground.ts';
import { freePorts } from './demo/connection/ports.ts';
import { GREETING, PORTS, startSite } from './demo/connection/tour.ts';
import { accessOf } from './demo/connection/two-sites.ts';
import { Narrator } from './demo/narrator.ts';
import { wordsOf } from './arguments.ts';

wordsOf('node scripts/demo-containers.ts', 0);

const IMAGE = 'localhost/earshot:demo';
const NETWORK = 'earshot-demo';
/** A Listener of a network: `host` is its name there. */
const WEST = `apiVersion: skupper.io/v2alpha1
kind: Site
metadata: { name: west }
spec:
  settings: { networks: ${NETWORK} }
---
apiVersion: skupper.io/v2alpha1
kind: Listener
metadata: { name: web }
spec:
  routingKey: web
  host: web
  port: 8080
  settings: { network: ${NETWORK} }
`;

/** Where Podman's own settings are, if they are not in the usual places. */
const SETTINGS = ['CONTAINERS_CONF', 'CONTAINERS_STORAGE_CONF', 'XDG_RUNTIME_DIR'];

const narrator = new Narrator(console.log);
const given = SETTINGS.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]] as const]));
const playground = await Playground.open(narrator, { ...Object.fromEntries(given), SKUPPER_ROUTER_IMAGE: IMAGE });
let interrupted: NodeJS.Signals | undefined;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => {
    interrupted = signal;
    process.exitCode = 128 + constants.signals[signal];
  });
}

try {
  if ((await playground.attempt('podman version')).code !== 0)
    console.log('skipped: podman is missing or does not work here (Debian: apt-get install podman)');
  else await showAll();
} catch (error) {
  console.error(`\nThe demo failed in step ${narrator.step}\n${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
} finally {
  await removeAll();
  await playground[Symbol.asyncDispose]();
}

async function showAll(): Promise<void> {
  const ports = await freePorts(PORTS);
  narrator.begin('An image, without a container engine');
  const script = fileURLToPath(new URL('image.ts', import.meta.url));
  await playground.run(`node ${script} --name ${IMAGE} --out earshot.tar`);
  await playground.run('podman load -i earshot.tar');
  stopIfAsked();

  narrator.begin('A site with a server, as a process');
  await mkdir(join(playground.folder, 'www'));
  await writeFile(join(playground.folder, 'www/index.html'), `${GREETING}\n`);
  await playground.start(`busybox httpd -f -p 127.0.0.1:${ports.server} -h www`, 'httpd');
  await playground.run(`earshot -n demo-east site create east --grant-port ${ports.grant}`);
  await writeFile(join(playground.folder, 'access.yaml'), accessOf(ports.link));
  await playground.run('earshot -n demo-east apply -f access.yaml');
  await playground.run(`earshot -n demo-east connector create web ${ports.server} --host 127.0.0.1`);
  await startSite({ narrator, playground }, 'demo-east', 'east');
  stopIfAsked();

  narrator.begin('A site in containers, with a router in a network');
  narrator.say('A Listener with `settings.network` is served in that network, under its host as a name.');
  await playground.run(`podman network create ${NETWORK}`);
  await writeFile(join(playground.folder, 'west.yaml'), WEST);
  await playground.run('cat west.yaml');
  await playground.run('earshot -n demo-west apply -f west.yaml');
  await playground.run('earshot -n demo-west system install --platform podman');
  await playground.run('earshot -n demo-east token issue token.yaml');
  await playground.run('earshot -n demo-west token redeem token.yaml');
  stopIfAsked();

  narrator.begin('Containers of the network use the server by name');
  for (const name of ['web', 'earshot']) {
    const client = `podman run --rm --network ${NETWORK} --entrypoint /usr/local/bin/node ${IMAGE} -e "fetch('http://${name}:8080/').then((answer) => answer.text()).then(console.log)"`;
    const seen = await narrator.until(
      `a container reaches the server as ${name}`,
      async () => {
        const { code, output } = await playground.attempt(client);
        return { found: code === 0 && output.includes(GREETING) ? output : undefined, seen: output };
      },
      60,
    );
    narrator.command(client);
    narrator.output(seen.trim());
    narrator.claim(`a container reaches the server as ${name}`, seen.includes(GREETING), seen);
    stopIfAsked();
  }
  await playground.run('earshot -n demo-west system status');
  narrator.say('All of it is removed now. To do it by yourself: docs/tutorial-containers.md.');
}

function stopIfAsked(): void {
  if (interrupted !== undefined) throw new Error('it was stopped');
}

/** What Podman has of it, and a unit if systemd runs. */
async function removeAll(): Promise<void> {
  await playground.attempt('earshot -n demo-west system uninstall --purge');
  await playground.attempt(`podman network rm --force ${NETWORK}`);
  await playground.attempt(`podman image rm --force ${IMAGE}`);
  // Files of a Podman without root belong to other users outside of its user namespace.
  if (process.getuid?.() !== 0) await playground.attempt('podman unshare rm -rf .local');
}
