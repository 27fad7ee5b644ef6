import type { RenewalAnswer } from '../../agent/ports.ts';
import { CliError } from '../errors.ts';
import { namesOf, notFound } from './resource-actions.ts';
import { requireRunning, waitUntil, type Context } from './waiting.ts';
import { printable } from '../../text/printable.ts';

/** @throws CliError failed with the reason if the other site or this one refuses */
export async function renewLink(context: Context, name: string, timeout: number): Promise<void> {
  const { resources, terminal } = context;
  if (!(await namesOf(resources, 'Link')).includes(name)) throw await notFound(resources, 'Link', name);
  await requireRunning(resources);
  const { renewals: requests } = resources;
  await requests.ask(name);
  const answer = await waitUntil<RenewalAnswer>(context, `Link "${name}" to have a new certificate`, timeout, async () => {
    const found = await requests.answerTo(name);
    if (found !== undefined) return { done: found };
    const { status = 'Pending', message = '' } = (await resources.get('Link', name))?.status ?? {};
    // The renewal is sent over the link itself.
    return { waitingFor: status === 'Ready' ? 'the other site has not answered yet' : `the link is ${status}: ${message}` };
  });
  await requests.drop(name);
  if ('refused' in answer) throw new CliError('failed', `Link "${name}" keeps its certificate: ${printable(answer.refused)}`);
  const { serial, before, until } = answer;
  terminal.out(`Link "${name}" has a new certificate, valid until ${printable(until)}.\n`);
  terminal.out(`Serial number ${printable(serial)}, before ${printable(before)}.\n`);
}
