/** Run by batch.ts: several files of tests in this one process, each a suite of its own, so that hooks and what fails stay with their file. */
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { describe } from 'node:test';
import { pathToFileURL } from 'node:url';
import { endProcess } from './end-process.ts';

interface AsyncHooks {
  getHookArrays(): readonly [readonly { disable(): void }[], ...unknown[]];
}

const [endLimit, ...files] = process.argv.slice(2);
const imports = files.map((file) => {
  const { promise, resolve: done } = Promise.withResolvers<void>();
  describe(file, async () => {
    await import(pathToFileURL(resolve(file)).href).finally(done);
  });
  return promise;
});

/**
 * node:test follows each promise, to know in which test something happens. That takes a quarter of the time, and once all tests are known it
 * only says from which test a late error comes. Such an error fails the process all the same.
 */
const { getHookArrays } = createRequire(import.meta.url)('internal/async_hooks') as AsyncHooks;
const [hooks] = getHookArrays();
const ownHooks = [...hooks];
await Promise.all(imports);
for (const hook of ownHooks) hook.disable();
endProcess(Number(endLimit));
