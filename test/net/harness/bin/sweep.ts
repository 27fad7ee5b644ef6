/** Removes what interrupted tests have left: their programs and network namespaces. Those of tests that run stay. */
import { setTimeout as wait } from 'node:timers/promises';
import { removeLeftovers } from '../leftovers.ts';

/** Milliseconds in which processes have ended after a request to stop. */
const ENDING = 3_000;

for (const end = performance.now() + ENDING; performance.now() < end; await wait(200)) if ((await removeLeftovers()) === 0) break;
