/** `npm run play -- --seeds N`: played clusters, each from one seed (docs/simulation.md), with the options of `npm run simulate`. */
import { trySeeds } from '../simulate/command.ts';
import { CLUSTERS } from '../simulate/jobs.ts';
import { faults } from './faults.ts';

await trySeeds({ script: 'play', file: 'test/fake-cluster/run.ts', program: CLUSTERS, faults });
