/**
 * `system start` and `system reload` as playbooks of Skupper (`skupper.v2`) call them: in a container, where the machine's data directory
 * is mounted and neither systemd nor an engine can be reached. They write the unit that the playbook then installs on the machine.
 */
import { join } from 'node:path';
import { makeDirectory, writeDurably } from '../../files/durable.ts';
import { layoutOf } from '../../platform/linux/layout.ts';
import { readPlatformFile, writePlatformFile } from '../../platform/linux/platform-file.ts';
import { makeNamespace } from '../../platform/linux/site.ts';
import { writtenResources } from '../../platform/linux/written-resources.ts';
import { CliError } from '../errors.ts';
import type { Terminal } from '../output/terminal.ts';
import type { MachinePlatform } from '../place.ts';
import { plannedContainers } from './container-actions.ts';
import { aliasName, containerUnitText, unitText } from './systemd-unit.ts';

export interface Playbook {
  readonly namespace: string;
  readonly platform: MachinePlatform;
  /** The data directory on the machine. */
  readonly home: string;
}

const DRAIN_SECONDS = 30;

/** @throws CliError not-found if the namespace has no Site */
export async function prepareUnit({ namespace, platform, home }: Playbook, terminal: Terminal): Promise<void> {
  const layout = layoutOf(namespace);
  const written = await writtenResources(layout);
  if (!written.some(({ manifest }) => manifest.kind === 'Site'))
    throw new CliError('not-found', `Nothing was prepared: ${layout.input.resources} has no Site. Write one there first.`);
  await makeNamespace(layout);
  const isUser = process.getuid?.() !== 0;
  const scripts = join(layout.internal.root, 'scripts');
  const path = join(scripts, aliasName(namespace));
  let text = unitText({ namespace, command: ['earshot'], home, user: isUser, drainSeconds: DRAIN_SECONDS });
  if (platform === 'linux') await writePlatformFile(layout, { platform });
  else {
    const before = await readPlatformFile(layout);
    const file = { ...(before?.platform === platform ? before : {}), platform, drainSeconds: DRAIN_SECONDS };
    const [first, ...others] = await plannedContainers(namespace, file, 'systemd', { home, program: platform });
    await writePlatformFile(layout, { ...file, image: first.image });
    text = containerUnitText(first, isUser);
    if (others.length > 0)
      terminal.note(`Routers of ${others.length} networks need \`earshot -n ${namespace} system install\` on the machine.\n`);
  }
  await makeDirectory(scripts, 0o700);
  // The playbook installs it under this name, which cannot be its own alias.
  await writeDurably(path, text.replace(/^Alias=.*\n/m, ''), 0o644);
  terminal.out(`${path} is written. The playbook installs it on the machine.\n`);
}
