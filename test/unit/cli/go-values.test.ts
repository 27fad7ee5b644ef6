import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CommanderError, type Command, type Option } from 'commander';
import { withoutGoValues } from '../../../src/cli/commands/go-values.ts';
import { buildProgram } from '../../../src/cli/program.ts';
import { Namespace } from './namespace.ts';

const flag = (long: string, kind: 'boolean' | 'value' = 'boolean', short?: string) => ({
  long,
  ...(short === undefined ? {} : { short }),
  required: kind === 'value',
  optional: false,
  negate: long.startsWith('--no-'),
});
const flags = [flag('--edge'), flag('--no-edge'), flag('--all', 'boolean', '-a'), flag('--no-wait'), flag('--host', 'value', '-H')];
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
    ['-H=west', '--host=west'],
    ['-H=', '--host='],
    ['-H=a=b', '--host=a=b'],
    ['-x=west', '-x=west'],
    ['--host -H=west', '--host -H=west'],
  ];
  for (const [words, taken] of cases)
    it(`${words} is ${taken === '' ? 'left out' : taken}`, () => {
      assert.equal(withoutGoValues(words.split(' '), flags, refuse).join(' '), taken);
    });

  it('with another value are refused by name', () => {
    assert.throws(() => withoutGoValues(['--edge=maybe'], flags, refuse), /'--edge' must be true or false, not 'maybe'/);
  });

  it('of every command take both values', () => {
    const booleans = options().filter(([, { required, optional, long }]) => !required && !optional && long !== '--version');
    for (const [command, { long }] of booleans) for (const value of ['true', 'false']) assertKnown(command, `${long}=${value}`);
    assert.ok(booleans.length > 40, `${booleans.length} were tried`);
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

describe('options with a value', () => {
  /** One of these suits each option. */
  const values = ['1', '30s', '80', '512Mi', 'ready', 'west', 'Always', 'default', '{}', 'a=b', 'http://a'];

  it('of every command take it after = in their long and short forms', () => {
    let count = 0;
    for (const [command, { long, short, required, argChoices = values }] of options()) {
      if (!required) continue;
      for (const name of [long, short]) {
        if (typeof name !== 'string') continue;
        assert.ok(
          argChoices.some((value) => isTaken(command, `${name}=${value}`)),
          `${command.name()} ${name}`,
        );
        count += 1;
      }
    }
    assert.ok(count > 150, `${count} were tried`);
  });
});

function options(): readonly (readonly [command: Command, option: Option])[] {
  const leaves = (command: Command): readonly Command[] => [command, ...command.commands.flatMap(leaves)];
  const all = leaves(buildProgram({ out: () => {}, note: () => {}, input: async () => '' }));
  return all.flatMap((command) => command.options.map((option) => [command, option] as const));
}

function assertKnown(command: Command, word: string): void {
  assert.deepEqual(command.parseOptions([word]).unknown, [], `${command.name()} ${word}`);
}

function isTaken(command: Command, word: string): boolean {
  try {
    assertKnown(command, word);
    return true;
  } catch (error) {
    if (error instanceof CommanderError) return false;
    throw error;
  }
}
