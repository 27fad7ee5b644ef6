import { Command } from 'commander';
import { VERSION } from '../csi/version.ts';
import { addApply } from './apply.ts';
import { addCompletion } from './completion.ts';
import { addConnector } from './connector.ts';
import { addDebug } from './debug.ts';
import { addExposure } from './exposure.ts';
import { addLink } from './link.ts';
import { addListener } from './listener.ts';
import { namespaceOption } from './options.ts';
import { addOverview } from './overview.ts';
import { addRun } from './run-command.ts';
import { addSite } from './site.ts';
import { addSystem } from './system.ts';
import type { Terminal } from './terminal.ts';
import { addToken } from './token.ts';
import { addVersion } from './version.ts';

/** All commands. What a command does is loaded when it is run, so that each process holds only what it needs. */
export function buildProgram(terminal: Terminal): Command {
  const program = new Command('earshot')
    .description('Puts workloads within reach: addresses for pods, and services across sites.')
    .addOption(namespaceOption())
    .version(VERSION, '-V, --version', "show the program's version")
    // `earshot controller --namespace` is another one.
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
  addApply(program, terminal);
  addRun(program);
  addSystem(program, terminal);
  program.commandsGroup('Exposure, in a cluster:');
  addExposure(program);
  program.commandsGroup('This program:');
  addDebug(program, terminal);
  addCompletion(program, terminal);
  addVersion(program, terminal);
  return program;
}
