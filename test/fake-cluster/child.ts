/** Runs seeds of played clusters. */
import { jobOf, runSeeds } from '../simulate/job.ts';
import { replaceSurroundings } from '../simulate/load.ts';
import { faults } from './faults.ts';
import type { Event } from './history.ts';
import { aroundClusters } from './surroundings.ts';

const job = jobOf<Event>();
replaceSurroundings(aroundClusters(job.fault === undefined ? [] : (faults[job.fault]?.changes ?? [])));
const { play } = await import('./play.ts');
await runSeeds(job, play);
