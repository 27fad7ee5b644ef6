import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Program } from '../../../test/harness/program.ts';
import { GREETING, REFUSED, startSite, type Tour } from './tour.ts';

/** Megabytes (2^20 bytes) of the file that is downloaded: more than all buffers on the way hold. */
export const DISK = 64;

/** Two sites that run, and know nothing of each other. @returns the process of east */
export async function makeSites(tour: Tour): Promise<Program> {
  const { narrator, playground, ports } = tour;
  narrator.say('A site is a folder of YAML files and one process. West is where clients are, east where a server is.');
  await playground.run('earshot -n west site create west');
  await playground.run(`earshot -n east site create east --grant-port ${ports.grant}`);
  narrator.say(
    'East also says where other sites can link to it. (`--enable-link-access` does so on all addresses; the demo stays on this machine.)',
  );
  await writeFile(join(playground.folder, 'access.yaml'), accessOf(ports.link));
  await playground.run('cat access.yaml');
  await playground.run('earshot -n east apply -f access.yaml');
  const [east] = await Promise.all([startSite(tour, 'east'), startSite(tour, 'west')]);
  return east;
}

/** A web server that is not ours, a connector to it, and a listener that stands for it at the other site. */
export async function addServer({ narrator, playground, ports, curl }: Tour): Promise<void> {
  const www = join(playground.folder, 'www');
  await mkdir(www);
  await writeFile(join(www, 'index.html'), `${GREETING}\n`);
  const block = randomBytes(2 ** 20);
  await writeFile(join(www, 'disk.img'), Buffer.concat(Array.from({ length: DISK }, () => block)));
  narrator.say('The web server knows nothing of all this. It listens on a loopback address, where no other machine can reach it.');
  await playground.start(`busybox httpd -f -p 127.0.0.1:${ports.server} -h www`, 'httpd');
  await narrator.until(
    'the web server answers',
    async () => {
      const { code, output } = await playground.attempt(`curl -sS -m 5 http://127.0.0.1:${ports.server}/`);
      return { found: code === 0 ? true : undefined, seen: output };
    },
    10,
  );
  narrator.say(
    'A connector of east leads to it; a listener of west stands for it. They have their routing key in common: their name, "web".',
  );
  await playground.run(`earshot -n east connector create web ${ports.server} --host 127.0.0.1`);
  await playground.run(`earshot -n west listener create web ${ports.listener} --host 127.0.0.1`);
  narrator.say('There is no link yet. A listener without a connector in reach is closed, so that clients fail at once:');
  const { code, output } = await playground.runToFail(curl);
  narrator.claim('no way from west to the server yet: the client is refused', code === REFUSED, `exit code ${code}: ${output}`);
}

/** A RouterAccess that accepts links on a loopback port. */
export function accessOf(port: number): string {
  return `apiVersion: skupper.io/v2alpha1
kind: RouterAccess
metadata: { name: links }
spec:
  roles: [{ name: inter-router, port: ${port} }]
  bindHost: 127.0.0.1
  tlsCredentials: links
  generateTlsCredentials: true
`;
}
