/** The console of a namespace as a systemd service. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { makeDirectory, writeDurably } from '../../files/durable.ts';
import { layoutOf } from '../../platform/linux/layout.ts';
import { directoryResources } from '../../platform/linux/resources.ts';
import { CliError } from '../errors.ts';
import type { Terminal } from '../output/terminal.ts';
import { requestConsoleLink } from './console-links.ts';
import { containerFileOf, requireUnit, unitProgram } from './system-actions.ts';
import { consoleUnitName, consoleUnitText } from './systemd-unit.ts';
import { logOf, removeUnit, requireSystemd, systemctl, unitFolder } from './systemd.ts';
import { waitUntil } from './waiting.ts';

export interface ConsoleServiceOptions {
  readonly port: number;
  readonly publicUrl: readonly URL[];
  /** File that keeps the history. */
  readonly history?: string;
}

const START_TIMEOUT = 30_000;

/** Writes the unit, starts it, and waits until it issues links. */
export async function installConsole(
  namespace: string,
  { port, publicUrl, history }: ConsoleServiceOptions,
  terminal: Terminal,
): Promise<void> {
  const layout = layoutOf(namespace);
  requireSystemd(`earshot -n ${namespace} console --service --port ${port}`);
  const site = await requireUnit(namespace);
  const program = await unitProgram();
  // Root's containers leave files that only root can read.
  const account = (await containerFileOf(namespace)) === undefined ? program.account : undefined;
  const unit = consoleUnitName(namespace);
  await makeDirectory(unitFolder(), 0o755);
  const options = { namespace, port, publicUrls: publicUrl, history: history === undefined ? undefined : resolve(history) };
  await writeDurably(join(unitFolder(), unit), consoleUnitText({ ...program, account, ...options }), 0o644);
  await systemctl('daemon-reload');
  await systemctl('enable', unit);
  await systemctl('restart', unit);
  const context = { resources: directoryResources(layout), terminal };
  await waitUntil(context, `the console of the namespace ${namespace}`, START_TIMEOUT, async () => {
    try {
      await requestConsoleLink(layout);
      return { done: undefined };
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      return { waitingFor: `it is starting; if it does not, \`${logOf(unit)}\` says why, such as another program at port ${port}` };
    }
  });
  terminal.out(`${unit} is started. It starts and stops with ${site}.\n`);
  terminal.note(`Print a link to it with \`earshot -n ${namespace} console link\`.\n`);
}

export async function uninstallConsole(namespace: string, terminal: Terminal): Promise<void> {
  const unit = consoleUnitName(layoutOf(namespace).namespace);
  requireSystemd(`earshot -n ${namespace} console --service`);
  if (!existsSync(join(unitFolder(), unit))) {
    throw new CliError('not-found', `The unit ${unit} does not exist. \`earshot -n ${namespace} system network-observer\` writes it.`);
  }
  await removeUnit(unit);
  await systemctl('daemon-reload');
  terminal.out(`${unit} is ended and removed.\n`);
}
