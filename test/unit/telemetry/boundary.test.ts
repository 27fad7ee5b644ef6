import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pino, stdSerializers } from 'pino';
import { attempt, bounded, guard, logInternalErrors, reportInternalError } from '../../../src/telemetry/boundary.ts';
import { internalErrors } from '../../fuzz/internal-errors.ts';

const fault = new TypeError('an unexpected fault');
const lines: string[] = [];
const log = pino({ serializers: { error: stdSerializers.err } }, { write: (line: string) => lines.push(line) });
logInternalErrors(log);

test('an error of a handler is counted, and ends only its own scope', async () => {
  const before = await internalErrors();
  const ended: string[] = [];
  const handler = bounded(
    'connection/test',
    (what: string) => {
      if (what === 'bad') throw fault;
    },
    (_, what) => ended.push(what),
  );
  for (const what of ['good', 'bad', 'good']) handler(what);
  assert.deepEqual(ended, ['bad']);
  assert.equal((await internalErrors()) - before, 1);
});

test('also where it is one of many, where it is late, and where ending it fails too', async () => {
  const fail = (): never => {
    throw fault;
  };
  const before = await internalErrors();
  const done: number[] = [];
  for (const each of [1, 2, 3]) guard('look/test', each, (one) => (one === 2 ? fail() : done.push(one)));
  await attempt('pass/test', () => Promise.reject(fault));
  bounded('stream/test', fail, fail)();
  assert.deepEqual(done, [1, 3]);
  assert.equal((await internalErrors()) - before, 4);
});

test('it is logged with its stack, and cannot fill a disk', () => {
  logInternalErrors(log);
  lines.length = 0;
  for (let times = 0; times < 1_000; times += 1) reportInternalError('session/test', fault);
  assert.match(lines[0] ?? '', /"part":"session","handler":"test".*an unexpected fault.*boundary\.test\.ts/);
  assert.ok(lines.length < 30, `${lines.length} lines`);
});

/** Rooms that serve many at once, in one process. */
const ROOMS = ['router', 'agent', 'trust', 'platform/linux', 'limits', 'work', 'files', 'telemetry'];
/** Calls that register a handler; after each, the handler. */
const REGISTRATION = new RegExp(
  [
    /\.(?:on|once|addListener|prependListener|prependOnceListener|addEventListener)\(\s*'[a-zA-Z]+',/,
    /\.setTimeout\([^,()]+,/,
    /(?<!await )\b(?:setTimeout|setInterval|setImmediate|queueMicrotask|nextTick)\(/,
    /\breceive\(socket,/,
    // Promises without a waiter.
    /(?<!(?:return|await|=) [^;]*)\.then\(/,
    /(?<!: )\bvoid (?=[a-z])(?!\S+\.(?:destroy|delete|set)\(|[\w.#]+;)/,
  ]
    .map(({ source }) => `${source}\\s*([^]{0,80})`)
    .join('|'),
  'g',
);
/** They settle a promise, or do nothing; `receive` passes on what it is given. */
const HARMLESS = /^(?:resolve\b|\(\) => (?:\{\}|resolve\(\))|onChunk\)|(stop|forget), \1\))/;

test('every handler is registered through the boundary, and each under a name of its own', () => {
  const names: string[] = [];
  const past: string[] = [];
  for (const file of sources()) {
    const text = readFileSync(file, 'utf8').replaceAll(/^\s*(\/\/|\/?\*).*$/gm, '');
    names.push(...[...text.matchAll(/\b(?:bounded|guard|detached|attempt)\(\s*'([a-z]+\/[a-z0-9-]+)'/g)].map(([, name = '']) => name));
    for (const [found, ...handlers] of text.matchAll(REGISTRATION)) {
      const handler = handlers.find((one) => one !== undefined) ?? '';
      const [word = ''] = /^(?:this\.)?#?\w*/.exec(handler) ?? [];
      const isBounded =
        handler.startsWith('bounded(') || new RegExp(`(?:const |readonly |this\\.)${word.replace('this.', '')} =\\s*bounded\\(`).test(text);
      if (!isBounded && !HARMLESS.test(handler)) past.push(`${file}: ${found.replaceAll(/\s+/g, ' ').slice(0, 80)}`);
    }
    for (const [found] of text.matchAll(/createServer\([^;]*=>[^;]*\);/g)) past.push(`${file}: ${found.slice(0, 60)}`);
  }
  assert.deepEqual(past, [], 'see `bounded` and `detached` of src/telemetry/boundary.ts');
  assert.deepEqual(
    names.filter((name, index) => names.indexOf(name) !== index),
    [],
    'no two places share a name',
  );
  assert.ok(names.length > 50, 'they were found');
});

function sources(): readonly string[] {
  const src = join(import.meta.dirname, '../../../src');
  return ROOMS.flatMap((room) =>
    readdirSync(join(src, room), { recursive: true, encoding: 'utf8' }).map((file) => join(src, room, file)),
  ).filter((file) => file.endsWith('.ts') && !/telemetry\/(?:boundary|log-destination)\.ts$/.test(file));
}
