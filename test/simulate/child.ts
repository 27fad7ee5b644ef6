/** Runs seeds of worlds of routers. */
import { replaceSurroundings } from './load.ts';
import { jobOf, runSeeds } from './job.ts';
import { aroundRouters } from './surroundings.ts';
import type { Event } from './history.ts';
import { faults } from './faults/faults.ts';

const job = jobOf<Event>();
replaceSurroundings(aroundRouters(job.fault === undefined ? [] : (faults[job.fault]?.changes ?? [])));
const { simulate } = await import('./simulation.ts');
await runSeeds(job, simulate);
