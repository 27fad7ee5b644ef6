import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Command } from 'commander';
import { withoutBooleanValues } from '../../../src/cli/commands/boolean-values.ts';
import { buildProgram } from '../../../src/cli/program.ts';
import { Namespace } from './namespace.ts';

const flag = (long: string, kind: 'boolean' | 'value' = 'boolean', short?: string) => ({
  long,
  ...(short === undefined ? {} : { short }),
  required: kind === 'value',
  optional: false,
  negate: long.startsWith('--no-'),
});
const flags = [flag('--edge'), flag('--no-edge'), flag('--all', 'boolean', '-a'), flag('--no-wait'), flag('--host', 'value')];
const refuse = (message: string): never => {
  throw new Error(message);
};

describe('boolean options', () => {
  const cases: readonly (readonly [words: string, taken: string])[] = [
    ['--edge=true', '--edge'],
    ['--edge=false', '--no-edge'],
    ['--edge=T', '--edge'],
    ['--edge=0', '--no-edge'],
    ['--no-edge=true', '--no-edge'],
    ['--no-edge=false', '--edge'],
    ['--all=true', '--all'],
    ['--all=false', ''],
    ['-a=true', '--all'],
    ['-a', '--all'],
    ['--all --all=false', ''],
    ['--edge --edge=false', '--no-edge'],
    ['--wait', ''],
    ['--wait=true', ''],
    ['--wait=false', '--no-wait'],
    ['--no-wait=false', ''],
    ['--no-wait --wait', ''],
    ['west --host --edge=false --all', 'west --host --edge=false --all'],
    ['--host=--edge=false', '--host=--edge=false'],
    ['-- --edge=false', '-- --edge=false'],
    ['--unknown=false', '--unknown=false'],
  ];
  for (const [words, taken] of cases)
    it(`${words} is ${taken === '' ? 'left out' : taken}`, () => {
      assert.equal(withoutBooleanValues(words.split(' '), flags, refuse).join(' '), taken);
    });

  it('with another value are refused by name', () => {
    assert.throws(() => withoutBooleanValues(['--edge=maybe'], flags, refuse), /'--edge' must be true or false, not 'maybe'/);
  });

  it('of every command take both values', () => {
    const leaves = (command: Command): readonly Command[] => [command, ...command.commands.flatMap(leaves)];
    const all = leaves(buildProgram({ out: () => {}, note: () => {}, input: async () => '' }));
    let count = 0;
    for (const command of all) {
      for (const { long, required, optional } of command.options) {
        if (required || optional || long === null || long === undefined || long === '--version') continue;
        for (const value of ['true', 'false']) {
          const { unknown } = command.parseOptions([`${long}=${value}`]);
          assert.deepEqual(unknown, [], `${command.name()} ${long}=${value}`);
          count += 1;
        }
      }
    }
    assert.ok(count > 40, `${count} were tried`);
  });

  it('mean what they say to the command', async () => {
    await using west = await Namespace.make();
    await west.earshot(['site', 'create', 'west', '--enable-link-access=true', '--edge=false']);
    assert.match((await west.text('Site-west.yaml')) ?? '', /linkAccess: default\n +edge: false/);
    await west.earshot(['site', 'update', '--enable-link-access=false']);
    assert.match((await west.text('Site-west.yaml')) ?? '', /linkAccess: none/);
    await west.earshot(['listener', 'create', 'web', '80']);
    assert.equal((await west.earshot(['listener', 'delete', 'web', '--wait=false'])).code, 0);
    const { code, err } = await west.earshot(['site', 'delete', '--all=perhaps']);
    assert.deepEqual([code, /option '--all' must be true or false, not 'perhaps'/.test(err)], [2, true]);
  });
});
