import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { exitCodeOf, exitCodes } from '../../../src/cli/errors.ts';
import { catalogue, modules, type ShownAs } from '../../../src/errors/catalogue.ts';
import { conditionReason, isConditionReason, type ConditionCode } from '../../../src/errors/condition-reason.ts';
import { EarshotError } from '../../../src/errors/earshot-error.ts';
import { problemOf } from '../../../src/errors/problem.ts';
import type { TransportCode } from '../../../src/kube/errors.ts';
import type { LinkCode } from '../../../src/router/link/link-errors.ts';
import { connectError } from '../../../src/router/link/tls-errors.ts';
import type { FailureCode } from '../../../src/router/local/failure.ts';
import { connectFailure } from '../../../src/trust/tokens/connect-failure.ts';

const root = join(import.meta.dirname, '../../..');
const sources = globSync('src/**/*.ts', { cwd: root })
  .filter((path) => !path.includes('generated') && path !== 'src/errors/catalogue.ts')
  .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
const isShown = (code: string, place: string): boolean => catalogue.get(code)?.[0].includes(place) === true;

describe('the catalogue of codes', () => {
  it('has each code once, in kebab case, with its meaning, what to do and where it is shown', () => {
    assert.equal(catalogue.size, Object.values(modules).flatMap((codes) => Object.keys(codes)).length);
    for (const [code, [shown, ...sentences]] of catalogue) {
      assert.match(code, /^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/);
      for (const sentence of sentences) assert.match(sentence, /^[A-Z`].*\.$/, code);
      assert.match(shown, /^(?:(?:condition|metric|answer|event|exit|log)(?: |$))+$/, code);
    }
  });

  it('has reasons as Kubernetes wants them, and no two alike', () => {
    const codes = [...catalogue.keys()].filter((code) => isShown(code, 'condition') || isShown(code, 'event'));
    const reasons = codes.map((code) => conditionReason(code as ConditionCode));
    for (const reason of reasons) assert.ok(/^[A-Z][A-Za-z0-9]*$/.test(reason) && isConditionReason(reason), reason);
    assert.equal(new Set(reasons).size, reasons.length);
    assert.equal(conditionReason('tls-no-ca'), 'TlsNoCa');
  });

  it('has no code that nothing uses', () => {
    // Neither a type that lists it nor a table that has it as a key is a use.
    const used = sources
      .map(({ text }) => text.replaceAll(/^(?:export )?type \w+ =[^;]*;/gm, '').replaceAll(/^ +'?[\w-]+'?: /gm, ''))
      .join('\n');
    const isUsed = (code: string): boolean =>
      used.includes(`'${code}'`) ||
      used.includes(`'${conditionReason(code as ConditionCode)}'`) ||
      (code.startsWith('target-') && isUsed(code.slice('target-'.length)));
    assert.deepEqual(
      [...catalogue.keys()].filter((code) => !isUsed(code)),
      [],
    );
  });

  it('says which codes are labels of metrics', () => {
    type Labels = LinkCode | FailureCode | TransportCode;
    const all: [ShownAs<'metric'>] extends [Labels] ? ([Labels] extends [ShownAs<'metric'>] ? true : never) : never = true;
    assert.ok(all);
  });

  it('has every code and reason that the program spells', () => {
    const unlisted = sources.flatMap(({ path, text }) => {
      const codes = text.matchAll(/(?:\bcode: |new \w+Error\(\s*|\b(?:waiting|failure|problem|missing)\(\s*)'([a-z0-9-]+)'/g);
      const reasons = text.matchAll(/\breason: '([A-Z][A-Za-z]+)'|\b(?:refuse|wait|notAccepted)\(\s*'([A-Z][A-Za-z]+)'/g);
      return [
        ...[...codes].filter(([, code = '']) => !catalogue.has(code)),
        ...[...reasons].filter(([, one, other]) => !isConditionReason(one ?? other ?? '')),
      ].map(([found]) => `${path}: ${found}`);
    });
    assert.deepEqual(unlisted, []);
  });

  it('holds for all errors: each class of ours extends the one base', () => {
    // The console's page runs in a browser, and shows the codes of the server.
    const others = sources
      .filter(({ path }) => !path.startsWith('src/console/page/'))
      .flatMap(({ path, text }) => [...text.matchAll(/class \w+ extends Error\b/g)].map(([found]) => `${path}: ${found}`));
    assert.deepEqual(others, []);
  });
});

describe('an error that is not ours', () => {
  const errors = [...Object.keys(constants.errno), 'ERR_SSL_WRONG_VERSION_NUMBER', 'CERT_HAS_EXPIRED', 'constructor'].flatMap((code) =>
    ['listen', 'open', 'connect'].map((syscall) => Object.assign(new Error(`${syscall} ${code}: no`), { code, syscall })),
  );

  it('comes to a code of the catalogue wherever it becomes a status, with its own word in the message', () => {
    for (const error of [...errors, new TypeError('x is undefined'), Object.assign(new Error('no code'), { code: 7 })]) {
      const { code, message } = problemOf(error);
      assert.ok(isShown(code, 'condition'), code);
      assert.equal(message, error.message);
      assert.ok(isShown(connectError(error, 'west').code, 'condition'));
      assert.ok(isShown(connectFailure(error, new URL('https://west:9090/'), 0).code, 'condition'));
      assert.equal(exitCodeOf(error), exitCodes.failed);
    }
    assert.deepEqual(problemOf('thrown'), { code: 'failed', message: 'thrown' });
  });

  it('has its own code if that is known', () => {
    const codeOf = (code: string, syscall: string): string => problemOf(Object.assign(new Error(code), { code, syscall })).code;
    assert.equal(codeOf('EADDRINUSE', 'listen'), 'port-in-use');
    assert.equal(codeOf('EACCES', 'listen'), 'port-not-permitted');
    assert.equal(codeOf('EACCES', 'open'), 'state-unavailable');
    assert.equal(codeOf('ENOSPC', 'write'), 'state-unavailable');
    assert.equal(codeOf('EXDEV', 'rename'), 'failed');
  });

  it('nor one of ours that no status shows', () => {
    assert.equal(problemOf(new EarshotError('http2-ping', 'no answer')).code, 'failed');
    assert.equal(problemOf(new EarshotError('state-damaged', 'damaged')).code, 'state-damaged');
  });
});
