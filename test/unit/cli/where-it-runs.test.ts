import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { RunningSite } from './running-site.ts';

/** A pipe whose reader stands still: it takes nothing any more, until it is read. */
class FullPipe {
  readonly writer: number;
  readonly #reader: number;
  #said = '';

  constructor(directory: string) {
    const path = join(directory, 'pipe');
    execFileSync('mkfifo', [path]);
    this.#reader = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
    const most = Buffer.alloc(4_096, '\n');
    untilItBlocks(() => void writeSync(this.#reader, most));
    // With a description of its own, which blocks as that of a shell does.
    this.writer = openSync(path, constants.O_WRONLY);
  }

  /** Output so far. */
  get said(): string {
    const piece = Buffer.alloc(65_536);
    untilItBlocks(() => void (this.#said += piece.toString('utf8', 0, readSync(this.#reader, piece))));
    return this.#said;
  }

  close(): void {
    closeSync(this.#reader);
  }
}

function untilItBlocks(step: () => void): void {
  try {
    for (;;) step();
  } catch (error) {
    assert.equal(Object(error).code, 'EAGAIN');
  }
}

const DAY = 86_400_000;

// Each process takes a second of a core, so one lives through as much as it can. A busy machine would start three at once too slowly.
describe('a router', () => {
  it('survives, reports and recovers from the loss of any resource, and stops on request', async () => {
    await using site = await RunningSite.make();
    const pipe = new FullPipe(site.layout.input.resources);
    await site.start(pipe.writer);
    closeSync(pipe.writer);
    const metric = (what: string, pattern: RegExp) => site.until(what, async () => pattern.test(await site.metrics()));
    await metric('this Node.js has all that is used', /^earshot_node_internals_missing\{part="tls-input"\} 0/m);
    await metric('the log waits for its reader', /^earshot_log_bytes_waiting [1-9]/m);
    await site.until('there is room for the files of a crowd', () => Promise.resolve(site.roomForFiles() >= 1_024));
    using steady = await site.connects();

    for (const clock of [DAY, -DAY, 0]) {
      await site.brings({ clock });
      assert.ok(await site.serves(), `the clock is ${clock} ms off`);
    }
    await site.until('the log is written', async () => pipe.said.includes('"message":"running"'));
    await metric('nothing of the log waits', /^earshot_log_bytes_waiting 0$/m);

    await site.brings('disk-full');
    await site.adds('one');
    await metric('it is reported', /^earshot_status_files_unwritable\{files="statuses"\} 1/m);
    assert.match(pipe.said, /cannot be written \(ENOSPC\)/);
    assert.ok(await site.serves());
    await site.brings('disk-free');
    await site.until('the status is there', async () => (await site.status('Listener-one.yaml')) !== '');

    const giveBack = site.takeOpenFiles();
    await site.adds('two');
    await site.until('it is reported', async () => /\(EMFILE\)/.test(pipe.said));
    assert.equal(await site.serves(), false, 'no connection can be accepted');
    assert.equal(await steady.says('still here'), 'still here');
    giveBack();
    await site.until('it serves again', () => site.serves());
    await site.until('the status is there', async () => (await site.status('Listener-two.yaml')) !== '');
    await metric('that is reported, too', /^earshot_status_files_unwritable\{files="statuses"\} 0/m);

    await site.brings('read-only');
    await site.adds('three');
    await metric('it is reported', /^earshot_status_files_unwritable\{files="statuses"\} 1/m);
    assert.match(pipe.said, /cannot be written \(EROFS\)/);
    assert.ok(await site.serves());

    pipe.close();
    site.signal('SIGHUP');
    await metric('an unread line is counted', /^earshot_log_lines_dropped_total [1-9]/m);
    assert.equal(await steady.says('still here'), 'still here');
    steady.end();
    assert.equal(await site.ends('SIGTERM'), 0);
  });

  it('ends in its time also where the system does not answer what it was asked', async () => {
    await using site = await RunningSite.make();
    await site.start();
    const pipe = join(site.layout.root, 'pipe');
    execFileSync('mkfifo', [pipe]);
    await site.brings({ waits: pipe });
    assert.equal(await site.ends('SIGTERM'), 'SIGTERM');
  });

  it('fails within seconds on an error that passes every boundary, even with a full disk, and starts again', async () => {
    await using site = await RunningSite.make();
    const full = openSync('/dev/full', 'w');
    await site.start(full);
    closeSync(full);
    assert.match(await site.metrics(), /^earshot_log_bytes_waiting [1-9]/m);
    assert.ok(await site.serves());
    await site.brings('reject');
    assert.equal(await site.ends(), 1);
    assert.match(await site.status('Site-west.yaml'), /status: Pending|status: Error/);

    const child = await site.start('pipe');
    let said = '';
    child.stdout?.on('data', (chunk: Buffer) => void (said += chunk.toString()));
    await site.until('its status is of now', async () => /status: Ready/.test(await site.status('Site-west.yaml')));
    await site.brings('throw');
    assert.equal(await site.ends(), 1);
    assert.match(said, /"level":"fatal".*"stack":".*stopping within \d+ s after an unexpected error/);
    assert.match(said, /"message":"drained"/);
  });
});
