import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ownProcess, pidHere, processText } from '../../../src/platform/linux/running-process.ts';
import type { RunningRouter } from '../../../src/platform/linux/layout.ts';

const base: RunningRouter = { pid: 1, router: 'router', httpPort: 1, startedAt: '', version: '1' };
const [HERE, ELSEWHERE] = ['pid:[1]', 'pid:[2]'];

const rows: readonly (readonly [string, Partial<RunningRouter>, number | undefined, string])[] = [
  ['of an earlier version is in this PID namespace', {}, 1, 'process 1'],
  ['in this PID namespace has its PID', { pid: 7, pidNamespace: HERE }, 7, 'process 7'],
  ['in another PID namespace has no PID here, not even 1', { pidNamespace: ELSEWHERE }, undefined, 'process 1 of a container'],
  ['in a named container is known by that name', { pidNamespace: ELSEWHERE, container: 'west' }, undefined, 'container west'],
];

for (const [name, given, pid, words] of rows)
  test(`a router ${name}`, () => {
    const running = { ...base, ...given };
    assert.equal(pidHere(running, HERE), pid);
    assert.equal(processText(running, HERE), words);
  });

test('a process announces its own PID and PID namespace', () => {
  const own = ownProcess();
  assert.equal(own.pid, process.pid);
  assert.match(own.pidNamespace ?? '', /^pid:\[\d+\]$/);
  assert.equal(pidHere({ ...base, ...own }), process.pid);
});
