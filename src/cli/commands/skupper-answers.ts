/** Adds to the program what Skupper's command line has and the commands themselves do not: notes, refusals, options of place. */
import { Option, type Command } from 'commander';
import { CliError } from '../errors.ts';
import type { Terminal } from '../output/terminal.ts';
import { namesIn, skupperCommands, type Answer } from '../skupper-commands.ts';
import { placeOptions } from './options.ts';

export function addSkupperAnswers(program: Command, terminal: Terminal): void {
  for (const [words, { answer, options = {} }] of Object.entries(skupperCommands)) {
    if (answer?.does === 'refused') addRefusedCommand(program, words, answer.note);
    else {
      const command = commandAt(program, words);
      for (const [flags, how] of Object.entries(options)) if (command !== undefined) addAnswer(command, flags, how, terminal);
      for (let at = command; at?.parent; at = at.parent) acceptPlace(at);
    }
  }
}

/** The command of these words; the program itself for none. */
export function commandAt(program: Command, words: string): Command | undefined {
  return words
    .split(' ')
    .filter(Boolean)
    .reduce<Command | undefined>((at, word) => at?.commands.find((one) => one.name() === word), program);
}

function addRefusedCommand(program: Command, words: string, note: string): void {
  const name = words.split(' ').at(-1) ?? words;
  const group = commandAt(program, words.split(' ').slice(0, -1).join(' '));
  group
    ?.command(name, { hidden: true })
    .description(`not available: ${note}`)
    .argument('[words...]')
    .allowUnknownOption()
    .action(() => {
      throw new CliError('usage', `${words} is not available: ${note}.`);
    });
}

function addAnswer(command: Command, flags: string, answer: Answer, terminal: Terminal): void {
  if (answer.does === 'same') return;
  const option = new Option(flags, answer.note).hideHelp();
  if (answer.does === 'ignored' && answer.choices !== undefined) option.choices(answer.choices);
  command.addOption(option).hook('preAction', () => {
    if (command.getOptionValueSource(option.attributeName()) !== 'cli') return;
    const { long } = namesIn(flags);
    if (answer.does === 'refused') throw new CliError('usage', `${long} is not available: ${answer.note}.`);
    terminal.note(`${long} has no effect: ${answer.note}.\n`);
  });
}

/** Options of place may stand after any word of a command, as in `site -n west status`. */
function acceptPlace(command: Command): void {
  for (const option of placeOptions()) {
    if (command.options.some(({ long, short }) => long === option.long || (short !== undefined && short === option.short))) continue;
    command.addOption(option.hideHelp());
  }
  if (command.commands.length > 0) command.enablePositionalOptions();
}
