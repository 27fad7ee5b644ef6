import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { RunningSite } from './running-site.ts';

/** A pipe whose reader stands still: it takes nothing any more. */
function fullPipe(directory: string): number {
  const path = join(directory, 'pipe');
  execFileSync('mkfifo', [path]);
  const descriptor = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  try {
    for (;;) writeSync(descriptor, Buffer.alloc(4_096));
  } catch (error) {
    assert.equal(Object(error).code, 'EAGAIN');
  }
  // With a description of its own, which blocks as that of a shell does.
  const own = openSync(path, constants.O_RDWR);
  return own;
}

const DAY = 86_400_000;

describe('a router', { concurrency: true }, () => {
  it('goes on where nobody reads its log, through a clock that jumps, and ends when it is told to', async () => {
    await using site = await RunningSite.make();
    const pipe = fullPipe(site.layout.input.resources);
    await site.start(pipe);
    assert.match(await site.metrics(), /^earshot_log_bytes_waiting [1-9]/m);
    for (const clock of [DAY, -DAY, 0]) {
      await site.brings({ clock });
      assert.ok(await site.serves(), `the clock is ${clock} ms off`);
    }
    assert.equal(await site.ends('SIGTERM'), 0);
    closeSync(pipe);
  });

  it('goes on where its log and its directory are on a full disk, tells of it, and ends when it is told to', async () => {
    await using site = await RunningSite.make();
    const full = openSync('/dev/full', 'w');
    await site.start(full);
    assert.match(await site.metrics(), /^earshot_log_bytes_waiting [1-9]/m);
    await site.brings('disk-full');
    await site.renames();
    await site.until('it is told', async () => /^earshot_status_files_unwritable\{files="statuses"\} 1/m.test(await site.metrics()));
    assert.ok(await site.serves());
    assert.equal(await site.ends('SIGTERM'), 0);
    closeSync(full);
  });

  it('goes on where the reader of its log has gone', async () => {
    await using site = await RunningSite.make();
    const child = await site.start('pipe');
    child.stdout?.destroy();
    child.kill('SIGHUP');
    await site.until('the line is counted', async () => /^earshot_log_lines_dropped_total [1-9]/m.test(await site.metrics()));
    assert.ok(await site.serves());
    assert.equal(await site.ends('SIGTERM'), 0);
  });

  for (const trouble of ['throw', 'reject'] as const) {
    it(`ends as failed, within seconds, where something gets by every boundary (${trouble}), and starts anew`, async () => {
      await using site = await RunningSite.make();
      const child = await site.start('pipe');
      let said = '';
      child.stdout?.on('data', (chunk: Buffer) => void (said += chunk.toString()));
      await site.brings(trouble);
      assert.equal(await site.ends(), 1);
      assert.match(said, /"level":"fatal".*"stack":".*ending, because of an unexpected error/);
      assert.match(said, /"message":"drained"/);
      assert.match(await site.status('Site-west.yaml'), /status: Pending|status: Error/);
      if (trouble === 'reject') return;
      await site.start();
      await site.until('its status is of now', async () => /status: Ready/.test(await site.status('Site-west.yaml')));
    });
  }
});
