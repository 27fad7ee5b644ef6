/** Commands that messages and helps propose work when they are typed. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { CommanderError, type Command } from 'commander';
import { buildProgram } from '../../../src/cli/program.ts';
import { commandsIn } from '../docs/commands.ts';
import { makeAuthority } from '../trust/support/site.ts';
import { Namespace, type Result } from './namespace.ts';

const root = new URL('../../../', import.meta.url).pathname;

/** Placeholders in messages, where a name does not fit. */
const values: Readonly<Record<string, readonly string[]>> = {
  'kind.toLowerCase()': ['site', 'listener', 'connector'],
  verb: ['update', 'delete'],
  command: ['install', 'network-observer'],
  each: ['AccessGrant', 'AccessToken'],
};

/** Commands that do something. Some have subcommands too. */
function actionsOf(command: Command): readonly Command[] {
  const below = command.commands.flatMap(actionsOf);
  return hasAction(command) ? [command, ...below] : below;
}

/** Commander has no public property for it. */
const hasAction = (command: Command): boolean => typeof Reflect.get(command, '_actionHandler') === 'function';

/** A program that reads its words and does nothing. */
function reader(): Command {
  const program = buildProgram({ out: () => {}, note: () => {}, input: () => Promise.resolve('') });
  for (const command of actionsOf(program)) command.action(() => {});
  return program;
}

/** @returns why the program does not take these words */
async function refusalOf(words: readonly string[]): Promise<string | undefined> {
  try {
    await reader().parseAsync(words, { from: 'user' });
    return undefined;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? undefined : error.message;
    throw error;
  }
}

/** `site update ${name}`, once for each value. */
function written(template: string): readonly string[] {
  const [, expression = ''] = /\$\{(.*?)\}/.exec(template) ?? [];
  if (expression === '') return [template];
  return (values[expression] ?? ['x']).flatMap((value) => written(template.replace(`\${${expression}}`, value)));
}

/** Commands in all messages of the source: in backticks, or built by `commandIn`. */
function proposals(): readonly { readonly from: string; readonly command: string }[] {
  return globSync('src/**/*.ts', { cwd: root }).flatMap((from) => {
    const text = readFileSync(`${root}${from}`, 'utf8').replaceAll(/^\s*(?:\/?\*|\/\/).*$/gm, '');
    const inQuotes = [...text.matchAll(/'([^'\n]*)'/g)].flatMap(([, words = '']) => [...words.matchAll(/`earshot ([^`]+)`/g)]);
    const inTemplates = [...text.matchAll(/\\`earshot ([^`\\]+)\\`/g)];
    const composed = [...text.matchAll(/commandIn\([\w.]+, (?:'([^']+)'|`([^`]+)`)\)/g)];
    const calls = text.match(/(?<!function )commandIn\(/g) ?? [];
    assert.equal(composed.length, calls.length, `${from}: a command that cannot be read here`);
    return [...inQuotes, ...inTemplates, ...composed].flatMap(([, one, two]) =>
      written(one ?? two ?? '').map((command) => ({ from, command })),
    );
  });
}

describe('a command that is proposed', () => {
  it('by a message is one that the program takes', async () => {
    const all = proposals();
    assert.ok(all.length > 30, `${all.length} commands`);
    const refused: string[] = [];
    for (const { from, command } of all) {
      const why = await refusalOf(command.split(' '));
      if (why !== undefined) refused.push(`${from}: earshot ${command}: ${why}`);
    }
    assert.deepEqual(refused, []);
  });

  it('by a help is one that the program takes', async () => {
    let help = '';
    const program = buildProgram({ out: (text) => void (help += text), note: () => {}, input: () => Promise.resolve('') });
    for (const command of actionsOf(program)) command.outputHelp();
    const all = help
      .split('\n')
      // The shell expands input from a file.
      .map((line) => line.trim().replace(/ < \S+$/, ''))
      .filter((line) => /^(?:ssh \S+ )?earshot /.test(line))
      .flatMap(commandsIn);
    assert.ok(all.length > 40, `${all.length} commands`);
    const refused: string[] = [];
    for (const words of all) {
      const why = await refusalOf(words.map((word) => word.replaceAll('"', '')));
      if (why !== undefined) refused.push(`earshot ${words.join(' ')}: ${why}`);
    }
    assert.deepEqual(refused, []);
  });
});

const { ca } = makeAuthority({ name: 'east' });
const token = (code: string): string =>
  JSON.stringify({
    apiVersion: 'skupper.io/v2alpha1',
    kind: 'AccessToken',
    metadata: { name: 'to-east' },
    spec: { url: 'https://east.example:9090/v1/redeem/east', code, ca },
  });
const soon = ['--timeout', '50ms'];
const listener = ['listener', 'create', 'web', '8080'];
const linkable = { linkAccess: 'default', ha: false, edge: false };
const ready = { status: 'Ready', conditions: [] };

interface Scene {
  readonly given: string;
  /** Ends with the command that proposes. */
  readonly until: (west: Namespace) => Promise<Result>;
  readonly proposes: readonly string[];
}

const scenes: readonly Scene[] = [
  {
    given: 'a listener that is there already',
    until: async (west) => {
      await west.earshot(listener);
      return west.earshot(listener);
    },
    proposes: ['listener update web', 'listener delete web'],
  },
  {
    given: 'a listener that does not come about',
    until: async (west) => {
      await west.run();
      return west.earshot([...listener, ...soon]);
    },
    proposes: ['status', 'listener delete web'],
  },
  {
    given: 'a second site',
    until: async (west) => {
      await west.earshot(['site', 'create', 'west']);
      return west.earshot(['site', 'create', 'other']);
    },
    proposes: ['site update'],
  },
  { given: 'no site', until: (west) => west.earshot(['status']), proposes: ['site create NAME'] },
  {
    given: 'no network',
    until: async (west) => {
      await west.run();
      return west.earshot(['network']);
    },
    proposes: ['status'],
  },
  {
    given: 'a token whose site does not answer',
    until: async (west) => {
      await west.run();
      return west.earshot(['token', 'redeem', '-', ...soon], token('one'));
    },
    proposes: ['status', 'link delete to-east'],
  },
  {
    given: 'another token of that name',
    until: async (west) => {
      await west.run();
      await west.earshot(['token', 'redeem', '-', ...soon], token('one'));
      return west.earshot(['token', 'redeem', '-', ...soon], token('two'));
    },
    proposes: ['link delete to-east'],
  },
  {
    given: 'a site without link access',
    until: async (west) => {
      await west.run();
      await west.earshot(['site', 'create', 'west', '--wait', 'none']);
      const refused = await west.earshot(['token', 'issue', '-']);
      await west.answer('Site', 'west', linkable, ready);
      return refused;
    },
    proposes: ['site update --enable-link-access'],
  },
  {
    given: 'a grant and a token of one name',
    until: async (west) => {
      for (const kind of ['AccessGrant', 'AccessToken']) await west.put(`${kind}.yaml`, token('one').replace('AccessToken', kind));
      return west.earshot(['token', 'delete', 'to-east']);
    },
    proposes: ['delete AccessGrant to-east', 'delete AccessToken to-east'],
  },
];

describe('what is proposed', () => {
  for (const { given, until, proposes } of scenes) {
    it(`works when it is typed, given ${given}`, async () => {
      await using west = await Namespace.make();
      const { out, err } = await until(west);
      const shown = [...`${out}${err}`.matchAll(/`earshot -n west ([^`]+)`/g)].map(([, command = '']) => command);
      for (const command of proposes) {
        assert.ok(shown.includes(command), `it proposes ${shown.join(', ') || 'nothing'}, not ${command}`);
        const typed = await west.earshot(command.replace('NAME', 'west').split(' '));
        assert.equal(typed.code, 0, `${command}: ${typed.err}`);
      }
    });
  }
});
