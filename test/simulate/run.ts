/**
 * `npm run simulate -- --seeds N`: worlds of routers, each from one seed (docs/simulation.md). A seed that fails is printed with the command that
 * replays it and a shortened history; `--keep-going` goes on with the next. `--seed S` runs one; `--fault NAME` puts a mistake back in.
 */
import { trySeeds } from './command.ts';
import { faults } from './faults/faults.ts';
import { ROUTERS } from './jobs.ts';

await trySeeds({ script: 'simulate', file: 'test/simulate/run.ts', program: ROUTERS, faults });
