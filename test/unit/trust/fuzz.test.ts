import { describe, it } from 'node:test';
import { fuzz, fuzzTargets } from './support/fuzz.ts';

describe('What strangers send is taken or refused', () => {
  for (const name of Object.keys(fuzzTargets)) it(`as ${name}`, async () => void (await fuzz(name, 200, 1)));
});
