/** Run by batch.ts: several files of tests in this one process, each a suite of its own, so that hooks and what fails stay with their file. */
import { resolve } from 'node:path';
import { describe } from 'node:test';
import { pathToFileURL } from 'node:url';

for (const file of process.argv.slice(2)) {
  describe(file, async () => {
    await import(pathToFileURL(resolve(file)).href);
  });
}
