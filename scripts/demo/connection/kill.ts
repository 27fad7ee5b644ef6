import type { Program } from '../../../test/harness/program.ts';
import { DemoError } from '../narrator.ts';
import { GREETING, show, startSite, untilRefused, untilServed, type Tour } from './tour.ts';

/** The site that the link goes to dies, and comes back. @returns milliseconds from its new start to the first answer */
export async function killEast(tour: Tour, east: Program): Promise<number> {
  const { narrator, playground, curl } = tour;
  narrator.say('East, where the link goes to, is killed without a word of warning.');
  await playground.run(`kill -9 ${east.pid}`);
  await untilRefused(tour, 'with east gone, clients of west are refused at once and do not hang');
  await show(tour, 'earshot -n west listener status', /Pending .*"east".* is unreachable/, 'the listener of west says why');
  narrator.say('East is started again, as systemd would after `earshot system install`. West needs no action.');
  const begun = performance.now();
  await startSite(tour, 'east', 'east-again');
  await untilServed(tour, 'clients of west get through again');
  const back = performance.now() - begun;
  const page = await playground.run(curl);
  if (page.trim() !== GREETING) throw new DemoError(`the server was reached, but said ${page}`);
  narrator.claim(`link and listener came back by themselves, ${(back / 1000).toFixed(1)} s after east was started`, true, '');
  return back;
}
