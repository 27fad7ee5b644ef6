import { CliError } from '../errors.ts';
import { namesOf, type SpecChange } from './resource-actions.ts';
import { createSite } from './site-actions.ts';
import { install, start, unitOf } from './system-actions.ts';
import { withSentence, type Context } from './waiting.ts';

const DRAIN_TIMEOUT = 30_000;

/**
 * Creates the site of the namespace if it has none, and its service if nothing runs it. Repeating it after a failure continues.
 * @param change spec of a new site
 * @throws CliError usage in a cluster, exists if the namespace has another site
 */
export async function ensureSite(context: Context, name: string, change: SpecChange, timeout: number): Promise<void> {
  const { resources, terminal } = context;
  const { namespace } = resources;
  if (resources.conventions.platform.name === 'kubernetes') {
    throw new CliError('usage', '--create-site is for sites on machines. In a cluster, use `earshot site create NAME` first.');
  }
  const isNew = !(await namesOf(resources, 'Site')).includes(name);
  if (isNew) await createSite({ ...context, kind: 'Site' }, name, change, 'none', { wait: 'none', timeout });
  if ((await resources.notRunning()) === undefined) return;
  try {
    if ((await unitOf(namespace)) === undefined) await install(namespace, { start: true, drainTimeout: DRAIN_TIMEOUT }, terminal);
    else await start(namespace, undefined, terminal);
  } catch (error) {
    if (!isNew || !(error instanceof CliError)) throw error;
    throw withSentence(error, `Site "${name}" was created nevertheless: repeat the command when the site runs.`);
  }
}
