import { layoutOf } from '../../platform/linux/layout.ts';
import type { RenewalAnswer } from '../../agent/ports.ts';
import { openRenewalRequests } from '../../platform/linux/renewal-requests.ts';
import { CliError } from '../errors.ts';
import { notFound, resourcesOf } from './resource-actions.ts';
import { readRuntime } from './runtime-files.ts';
import { printable, type Terminal } from '../output/terminal.ts';
import { requireRunning, waitUntil } from './waiting.ts';

/** @throws CliError failed with the reason where the other site, or this one, refuses */
export async function renewLink(namespace: string, name: string, timeout: number, terminal: Terminal): Promise<void> {
  const layout = layoutOf(namespace);
  const links = (await resourcesOf(layout, 'Link')).map(({ metadata }) => metadata.name ?? '');
  if (!links.includes(name)) throw notFound('Link', name, links);
  await requireRunning(layout);
  const requests = openRenewalRequests(layout);
  await requests.ask(name);
  const answer = await waitUntil<RenewalAnswer>(`Link "${name}" to have a new certificate`, timeout, terminal, async () => {
    const found = await requests.answerTo(name);
    if (found !== undefined) return { done: found };
    const { status = 'Pending', message = '' } = (await readRuntime(layout, 'Link', name))?.status ?? {};
    // It is renewed over the link itself.
    return { waitingFor: status === 'Ready' ? 'the other site has not answered yet' : `the link is ${status}: ${message}` };
  });
  await requests.drop(name);
  if ('refused' in answer) throw new CliError('failed', `Link "${name}" keeps its certificate: ${printable(answer.refused)}`);
  const { serial, before, until } = answer;
  terminal.out(`Link "${name}" has a new certificate, valid until ${printable(until)}.\n`);
  terminal.out(`Serial number ${printable(serial)}, before ${printable(before)}.\n`);
}
