import assert from 'node:assert/strict';
import { test } from 'node:test';
import { logProblem } from '../../../src/cli/processes/connect.ts';
import { ApiError } from '../../../src/kube/errors.ts';
import type { Logger } from '../../../src/telemetry/log.ts';

test('a kind that is not served yet is one line without a stack, and any other trouble a warning each time', () => {
  const lines: string[] = [];
  const level =
    (name: string) =>
    (fields: object, message: string): void =>
      void lines.push(`${name} ${'error' in fields ? 'with its stack ' : ''}${message}`);
  const log = { debug: level('debug'), info: level('info'), warn: level('warn') } as unknown as Logger; // As far as it is used.
  const tell = logProblem(log);
  const meet = (status: number): void =>
    tell({ resource: 'listeners', kind: 'relist', delay: 50, error: new ApiError('watch', { status, reason: '', message: 'x' }) });
  for (let tries = 0; tries < 9; tries++) meet(404);
  meet(500);
  assert.deepEqual(
    lines.filter((line) => !line.startsWith('debug ')),
    ['info waiting until the API server serves listeners', 'warn with its stack watching listeners: watch: x (500)'],
  );
});
