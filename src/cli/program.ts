import { Command } from 'commander';
import { VERSION } from '../version.ts';
import { addApply } from './commands/apply.ts';
import { acceptGoValues } from './commands/go-values.ts';
import { addCompletion } from './commands/completion.ts';
import { addCheck } from './commands/check.ts';
import { addConnector } from './commands/connector.ts';
import { addConsole } from './commands/console.ts';
import { addDebug } from './commands/debug.ts';
import { addExplain } from './commands/explain.ts';
import { addExposure } from './commands/exposure.ts';
import { addLink } from './commands/link.ts';
import { addListener } from './commands/listener.ts';
import { placeOptions } from './commands/options.ts';
import { addLogs } from './commands/logs.ts';
import { addOverview } from './commands/overview.ts';
import { addRouter } from './commands/router.ts';
import { addRun } from './commands/run.ts';
import { addSite } from './commands/site.ts';
import { addSiteController } from './commands/site-controller.ts';
import { addSkupperAnswers } from './commands/skupper-answers.ts';
import { addSystem } from './commands/system.ts';
import type { Terminal } from './output/terminal.ts';
import { addToken } from './commands/token.ts';
import { addWait } from './commands/wait.ts';
import { addVersion } from './commands/version.ts';

/** Builds all commands. The code of a command is loaded when it runs, so that each process loads only what it needs. */
export function buildProgram(terminal: Terminal): Command {
  const program = new Command('earshot');
  // Runs before the version option, which would print the version without checking the other options.
  program.on('option:version', () => {
    const words: unknown = Reflect.get(program, 'rawArgs');
    const options = (Array.isArray(words) ? words.map(String) : []).filter((word) => word.startsWith('-'));
    const other = options.find((word) => !KNOWN_OPTIONS.test(word));
    if (other !== undefined) program.error(`error: unknown option '${other}'`);
  });
  for (const option of placeOptions()) program.addOption(option);
  program
    .description('Puts workloads within reach: addresses for pods, and services across sites.')
    .version(VERSION, '-V, --version', "show the program's version")
    // `earshot controller --namespace` is a different option.
    .enablePositionalOptions()
    .configureOutput({ writeOut: terminal.out, writeErr: terminal.note })
    .showHelpAfterError('(run with --help for the options)')
    .exitOverride();
  program.commandsGroup('Connection:');
  addSite(program, terminal);
  addListener(program, terminal);
  addConnector(program, terminal);
  addLink(program, terminal);
  addToken(program, terminal);
  addOverview(program, terminal);
  addExplain(program, terminal);
  addCheck(program, terminal);
  addConsole(program, terminal);
  addWait(program, terminal);
  addLogs(program, terminal);
  addApply(program, terminal);
  addRun(program);
  addSystem(program, terminal);
  program.commandsGroup('Exposure, in a cluster:');
  addExposure(program);
  program.commandsGroup('Sites, in a cluster:');
  addSiteController(program);
  addRouter(program);
  program.commandsGroup('This program:');
  addDebug(program, terminal);
  addCompletion(program, terminal);
  addVersion(program, terminal);
  addSkupperAnswers(program, terminal);
  acceptGoValues(program);
  return program;
}

/** Options of the program itself. */
const KNOWN_OPTIONS = /^(?:-V|--version|-h|--help|-[npc].*|--(?:namespace|platform|context|kubeconfig)(?:=.*)?)$/;
