import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, it } from 'node:test';

const program = `
  import { readFileSync, readdirSync } from 'node:fs';
  import { widenFileTable } from '${new URL('../../../src/cli/processes/file-table.ts', import.meta.url).href}';
  const look = () => ({
    // proc_pid_status(5): how many files the table has room for.
    room: Number(/^FDSize:\\s*(\\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]),
    open: readdirSync('/proc/self/fd').length,
  });
  const before = look();
  await widenFileTable();
  console.log(JSON.stringify({ before, after: look() }));
`;

interface Look {
  readonly room: number;
  readonly open: number;
}

function widenedUnder(limit: number): { readonly before: Look; readonly after: Look } {
  const args = ['--input-type=module', '--eval', program];
  const said = execFileSync('prlimit', [`--nofile=${limit}:${limit}`, process.execPath, ...args], { encoding: 'utf8' });
  return JSON.parse(said) as ReturnType<typeof widenedUnder>;
}

describe('the table of open files', () => {
  it('has room for thousands before anybody comes, and nothing is left open', () => {
    const { before, after } = widenedUnder(20_000);
    assert.ok(before.room < 16_384, `${before.room} at first`);
    assert.equal(after.room, 16_384);
    // Files that Node.js had open while it started may have been closed since.
    assert.ok(after.open <= before.open, `${after.open} are open, where ${before.open} were`);
  });

  it('grows to the size that the limit requires, and leaves half of it to others meanwhile', () => {
    const { before, after } = widenedUnder(1_024);
    assert.equal(after.room, 1_024);
    assert.ok(after.open <= before.open, `${after.open} are open, where ${before.open} were`);
  });

  it('stays as it is where hardly any file may be open', () => {
    const { before, after } = widenedUnder(100);
    assert.equal(after.room, before.room);
    assert.ok(after.open <= before.open, `${after.open} are open, where ${before.open} were`);
  });
});
