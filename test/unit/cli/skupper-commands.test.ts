import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import type { Command, Option } from 'commander';
import { commandAt } from '../../../src/cli/commands/skupper-answers.ts';
import { buildProgram } from '../../../src/cli/program.ts';
import { namesIn, skupperCommands } from '../../../src/cli/skupper-commands.ts';
import { Namespace } from './namespace.ts';

/** Options (long and short name) of each command of Skupper. */
const fixture: unknown = JSON.parse(readFileSync(new URL('../../fixtures/skupper-commands.json', import.meta.url), 'utf8'));
const commands = new Map(
  Object.entries(Object(fixture)).map(([words, options]) => [words, Array.isArray(options) ? options.map(String) : []]),
);
const program = buildProgram({ out: () => {}, note: () => {}, input: async () => '' });

/** `--no-wait` is `--wait` with another default. */
function optionOf(command: Command, long: string): Option | undefined {
  return command.options.find((option) => option.long === long || option.long === long.replace('--', '--no-'));
}

describe('a command of Skupper', () => {
  for (const [words, options] of commands) {
    it(`\`${words}\` is in the table with each of its options`, () => {
      const row = skupperCommands[words];
      assert.ok(row, words);
      const known = new Set(Object.keys(row.options ?? {}).map((flags) => namesIn(flags).long));
      for (const option of options) assert.ok(known.has(namesIn(option).long), `${words} ${option}`);
    });
  }

  it('exists in the program with each option that the table has', () => {
    for (const [words, { answer, options = {} }] of Object.entries(skupperCommands)) {
      const command = commandAt(program, words);
      assert.ok(command, words);
      const isRefused = answer?.does === 'refused';
      const shorts = new Map((commands.get(words) ?? []).map((flags) => [namesIn(flags).long, namesIn(flags).short]));
      for (const flags of isRefused ? [] : Object.keys(options)) {
        const { long } = namesIn(flags);
        const found = optionOf(command, long);
        assert.ok(found, `${words} ${long}`);
        const short = shorts.get(long);
        if (short !== undefined) assert.equal(found.short, short, `${words} ${short}`);
      }
    }
  });

  it('takes the options of place after each of its words', () => {
    const place = ['-p', '-n', '-c'];
    for (const [words, { answer }] of Object.entries(skupperCommands)) {
      if (answer?.does === 'refused') continue;
      for (let at = commandAt(program, words); at; at = at.parent ?? undefined) {
        const shorts = new Set(at.options.map(({ short }) => short));
        for (const short of place) assert.ok(shorts.has(short), `${at.name()} ${short}`);
      }
    }
  });

  it('that is refused ends with 2 and one line that says why and what to use', async () => {
    await using west = await Namespace.make();
    const refused = Object.entries(skupperCommands).filter(([, { answer }]) => answer?.does === 'refused');
    assert.ok(refused.length > 0);
    for (const [words] of refused) {
      const { code, err } = await west.earshot([...words.split(' '), '--username', 'x', 'more', '-n', 'other']);
      assert.equal(code, 2, words);
      assert.match(err, new RegExp(`^${words} is not available: [^.\\n]+\\. Use [^\\n]+\\.\\n$`));
    }
  });

  it('acts on the namespace that is named between its words', async () => {
    await using west = await Namespace.make();
    assert.equal((await west.earshot(['site', '-n', 'other', 'create', 'other'])).code, 0);
    assert.match((await west.earshot(['-n', 'other', 'site', 'status'])).out, /other/);
    assert.match((await west.earshot(['site', '-p=podman', '-n=other', 'status'])).out, /other/);
    const { code, err } = await west.earshot(['site', '-p', 'lxc', 'status']);
    assert.deepEqual([code, /Allowed choices are kubernetes, linux, podman, docker/.test(err)], [2, true]);
  });
});

describe('an unknown word', () => {
  for (const words of [['gateway'], ['service', 'create'], ['site', 'create', 'west', '--ingress', 'none'], ['site', 'start']]) {
    it(`ends with 2: ${words.join(' ')}`, async () => {
      await using west = await Namespace.make();
      const { code, err } = await west.earshot(words);
      assert.deepEqual([code, /^error: unknown (command|option)/m.test(err)], [2, true], err);
    });
  }
});
