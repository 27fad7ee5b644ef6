/**
 * `make demo-connection`: two sites on this machine, a token, a web server behind one and a client in front of the other; then
 * the site that the link goes to is killed and comes back, a certificate is renewed, and a site is shut out. Every claim is
 * checked; where one does not hold, the demo ends there and says so. Nothing is left behind.
 */
import { constants } from 'node:os';
import { killEast } from './demo/connection/kill.ts';
import { linkSites, lookAround } from './demo/connection/link.ts';
import { Playground } from './demo/connection/playground.ts';
import { freePorts } from './demo/connection/ports.ts';
import { renewCertificate } from './demo/connection/renew.ts';
import { revokeWest } from './demo/connection/revoke.ts';
import { PORTS, type Tour } from './demo/connection/tour.ts';
import { addServer, makeSites } from './demo/connection/two-sites.ts';
import { DemoError, Narrator } from './demo/narrator.ts';
import { wordsOf } from './arguments.ts';

wordsOf('node scripts/demo-connection.ts', 0);

const narrator = new Narrator(console.log);
const playground = await Playground.open(narrator);
let interrupted: NodeJS.Signals | undefined;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => void interrupt(signal));
// The terminal, or another reader, is gone.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => void interrupt('SIGPIPE'));

const begun = performance.now();
const seconds = (milliseconds: number): string => `${(milliseconds / 1000).toFixed(1)} s`;

try {
  const ports = await freePorts(PORTS);
  const tour: Tour = { narrator, playground, ports, curl: `curl -sS -m 5 http://127.0.0.1:${ports.listener}/` };

  narrator.begin('Two sites');
  await requirePrograms();
  const east = await makeSites(tour);

  narrator.begin('A server behind one, a client in front of the other');
  await addServer(tour);

  narrator.begin('A token, and they are linked');
  const link = await linkSites(tour);
  const ready = performance.now() - begun;
  narrator.say(`That was all that has to be done. It took ${seconds(ready)}.`);
  await lookAround(tour);

  narrator.begin('The other site is killed');
  const back = await killEast(tour, east);

  narrator.begin('A certificate is renewed');
  await renewCertificate(tour, link);

  narrator.begin('A site is shut out');
  const out = await revokeWest(tour);

  narrator.begin('What was seen');
  narrator.table([
    ['first answer through the link', seconds(ready), 'after the demo began'],
    ['next answer after a crash', seconds(back), 'after east was started again'],
    ['renewed certificate', 'no connection lost', 'in the middle of a download of 64 MB'],
    ['revoked site refused', seconds(out), 'after the command, with the reason in its status'],
  ]);
  narrator.say(`
    All of it is ended and removed now. To go on by yourself: bin/earshot --help, or README.md.`);
} catch (error) {
  if (interrupted === undefined) {
    playground.keep = true;
    console.error(`\nThe demo failed in step ${narrator.step}\n${error instanceof Error ? error.message : String(error)}`);
    console.error(`\nLogs and files are in ${playground.folder}`);
    process.exitCode = 1;
  }
} finally {
  await playground[Symbol.asyncDispose]();
}
if (interrupted !== undefined) console.error('\nThe demo was stopped; nothing of it is left.');

/** Ends all programs, upon which whatever step it is fails. The exit code is a shell's: 128 and the signal's number. */
async function interrupt(signal: NodeJS.Signals): Promise<void> {
  interrupted ??= signal;
  process.exitCode = 128 + constants.signals[interrupted];
  await playground[Symbol.asyncDispose]();
}

async function requirePrograms(): Promise<void> {
  for (const [command, what] of [
    ['curl --version', 'curl'],
    ['busybox httpd --help', 'busybox with httpd'],
  ] as const) {
    if ((await playground.attempt(command)).code === 127) {
      throw new DemoError(`${what} is missing (Debian: apt-get install curl busybox-static; \`make demo-connection\` does that)`);
    }
  }
}
