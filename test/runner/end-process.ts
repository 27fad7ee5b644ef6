import { after } from 'node:test';

/** Milliseconds for the reporters to write the results. */
const REPORTING = 2_000;
/** Tests may replace it. */
const { setTimeout } = globalThis;

/**
 * Ends this process a while after its last test and hook, if something that a test left open keeps it from ending. Call it once all files are
 * loaded.
 */
export function endProcess(milliseconds: number): void {
  after(() => {
    setTimeout(() => {
      // Standard output and standard error are pipes.
      const open = process.getActiveResourcesInfo().filter((name) => name !== 'PipeWrap');
      const seconds = milliseconds / 1_000;
      console.error(`✖ the process did not end within ${seconds} s after its last test: a test left open ${open.join(', ')}`);
      // node:test reports then, as it does in a process that ends by itself.
      process.emit('beforeExit', 1);
      setTimeout(() => process.exit(1), REPORTING);
    }, milliseconds).unref();
  });
}
