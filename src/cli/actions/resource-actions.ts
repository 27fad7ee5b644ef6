/** Implements `create`, `update`, `delete`, `status` and `generate` for every kind. */
import type { SkupperKind, SkupperResource } from '../../api/skupper/index.ts';
import { API_VERSION } from '../../api/skupper/names.ts';
import { problemText, validateResource, type ResourceProblem } from '../../api/skupper/validate.ts';
import { commandIn } from '../../text/command-in.ts';
import type { Manifest, OfKind, Resources } from '../../platform/resources.ts';
import type { Platform } from '../../site/capabilities.ts';
import { letsIn } from '../../site/plan/access.ts';
import { fieldErrors } from '../../site/plan/field-errors.ts';
import { itHas } from '../../text/nearest.ts';
import { sentence } from '../../text/sentence.ts';
import { CliError } from '../errors.ts';
import { fieldLines, listOf, resourceTable, structured, type OutputFormat } from '../output/output.ts';
import type { Terminal } from '../output/terminal.ts';
import { noteWhereStopped, waitForStatus, waitUntilGone, withSentence, type Context, type Wait, type WaitOptions } from './waiting.ts';
import { printable } from '../../text/printable.ts';

/** Changes to a spec from a command's options: `undefined` keeps a field, an empty text removes it, settings are merged. */
export type SpecChange = Readonly<Record<string, unknown>>;

export interface Target<K extends SkupperKind = SkupperKind> extends Context {
  readonly kind: K;
}

export interface DeleteOptions {
  readonly wait: boolean;
  readonly timeout: number;
}

export async function createResource(target: Target, name: string, change: SpecChange, usual: Wait, options: WaitOptions): Promise<void> {
  const { resources, kind } = target;
  const desired = manifest(kind, name, changed({}, change));
  const resource = checked(kind, desired, resources.conventions.platform);
  await requireBundle(resources, resource);
  const found = await resources.find(kind, name);
  if (found !== undefined) {
    throw new CliError('exists', `${kind} "${name}" already exists, in ${found.location}. ${waysOn(target, name)}`);
  }
  await resources.put(desired);
  try {
    await reportStatus(target, resource, usual, options, 'created');
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    throw withSentence(error, `${kind} "${name}" was created nevertheless. ${waysOn(target, name)}`);
  }
}

/** Advice for the user when a resource exists but is not as desired. */
function waysOn({ kind, resources }: Target, name: string): string {
  const [change, remove] = ['update', 'delete'].map((verb) => commandIn(resources, `${kind.toLowerCase()} ${verb} ${name}`));
  return `Change it with ${change}, or delete it with ${remove}.`;
}

export async function updateResource(target: Target, name: string, change: SpecChange, usual: Wait, options: WaitOptions): Promise<void> {
  const { resources, kind } = target;
  const found = await resources.find(kind, name);
  if (found === undefined) throw await notFound(resources, kind, name);
  const desired: Manifest = { ...found.manifest, spec: changed(found.manifest.spec ?? {}, change) };
  const resource = checked(kind, desired, resources.conventions.platform);
  await requireBundle(resources, resource);
  const outcome = await resources.put(desired);
  await reportStatus(target, resource, usual, options, outcome === 'unchanged' ? 'as it was' : 'changed');
}

export async function deleteResource(target: Target, name: string, options: DeleteOptions): Promise<void> {
  const { resources, kind, terminal } = target;
  const found = await resources.find(kind, name);
  if (found === undefined) throw await notFound(resources, kind, name);
  // Removed first, so that the site does not create the resource again from it.
  if (found.createdFrom !== undefined) await resources.remove(found.createdFrom.kind, found.createdFrom.name);
  await resources.remove(kind, name);
  if (options.wait) await waitUntilGone(target, kind, name, options.timeout);
  terminal.out(`${kind} "${name}" is deleted.\n`);
}

/** Shows one resource with its fields, or all of a kind as a table. Without a running process only the spec is known. */
export async function showStatus(target: Target, name: string | undefined, output: OutputFormat | undefined): Promise<void> {
  const { resources, kind, terminal } = target;
  const all = await resources.list(kind);
  await noteWhereStopped(target);
  if (name === undefined) {
    if (output !== undefined) terminal.out(structured(listOf(all), output));
    else terminal.out(all.length === 0 ? `No ${kind} in the namespace ${resources.namespace}.\n` : resourceTable(kind, all));
    return;
  }
  const resource = all.find(({ metadata }) => metadata.name === name);
  if (resource === undefined) throw await notFound(resources, kind, name);
  terminal.out(output === undefined ? described(resource) : structured(resource, output));
}

/** @throws CliError usage if the resource would be invalid on every platform */
export function generateResource(terminal: Terminal, kind: SkupperKind, name: string, change: SpecChange, output: OutputFormat): void {
  const desired = manifest(kind, name, changed({}, change));
  checked(kind, desired);
  terminal.out(structured(desired, output));
}

/** Error that lists the existing names. */
export async function notFound(resources: Resources, kind: SkupperKind, name: string): Promise<CliError> {
  const there = await namesOf(resources, kind);
  return new CliError('not-found', `${kind} "${name}" does not exist in this namespace${itHas(there) || `; it has no ${kind}`}.`);
}

export async function namesOf(resources: Resources, kind: SkupperKind): Promise<readonly string[]> {
  return (await resources.list(kind)).map(({ metadata }) => metadata.name ?? '');
}

export function manifest(kind: string, name: string, spec: Readonly<Record<string, unknown>>): Manifest {
  return { apiVersion: API_VERSION, kind, metadata: { name }, spec };
}

/**
 * @param platform omitted if the target platform is unknown
 * @throws CliError usage that names each field
 */
export function checked<K extends SkupperKind>(kind: K, desired: Manifest, platform?: Platform): OfKind<K> {
  const { resource, problems } = validateResource(desired);
  const what = `${kind} "${desired.metadata.name}"`;
  if (resource === undefined) throw new CliError('usage', problemList(what, problems));
  const errors = platform === undefined ? [] : fieldErrors(resource, platform);
  if (errors.length > 0)
    throw new CliError(
      'usage',
      problemList(
        what,
        errors.map(({ field = '', message }) => ({ severity: 'error', path: field, message })),
      ),
    );
  if (resource.kind === 'Site' && resource.spec.edge === true && letsIn(resource)) {
    throw new CliError('usage', 'An edge site cannot accept links: use --no-enable-link-access or --no-edge.');
  }
  // Validated against the schema of `kind`.
  return resource as OfKind<K>;
}

/** @throws CliError not-found if the TLS bundle that the resource names must exist already but does not */
async function requireBundle(resources: Resources, { kind, metadata, spec }: SkupperResource): Promise<void> {
  const name = 'tlsCredentials' in spec ? spec.tlsCredentials : undefined;
  if (name === undefined || (await resources.hasBundle(name)) !== false) return;
  const make = `kubectl -n ${resources.namespace} create secret tls ${name}`;
  const advice = `create it first, for example with \`${make} --cert=tls.crt --key=tls.key\``;
  throw new CliError(
    'not-found',
    `${kind} "${metadata.name}" needs the Secret "${name}", which does not exist in this namespace: ${advice}.`,
  );
}

function problemList(what: string, problems: readonly ResourceProblem[]): string {
  const errors = problems.filter(({ severity }) => severity === 'error').map(problemText);
  return errors.length === 1
    ? `${what}: ${sentence(errors.join(''))}`
    : `${what}:\n${errors.map((error) => `  ${sentence(error)}`).join('\n')}`;
}

function changed(spec: Readonly<Record<string, unknown>>, change: SpecChange): Readonly<Record<string, unknown>> {
  const result = new Map(Object.entries(spec));
  for (const [field, value] of Object.entries(change)) {
    const before = result.get(field);
    if (value === '') result.delete(field);
    else if (field === 'settings' && typeof before === 'object' && typeof value === 'object') result.set(field, { ...before, ...value });
    else if (value !== undefined) result.set(field, value);
  }
  return Object.fromEntries(result);
}

async function reportStatus(
  target: Target,
  resource: SkupperResource,
  usual: Wait,
  options: WaitOptions,
  otherwise: string,
): Promise<void> {
  const { terminal } = target;
  const { kind, metadata } = resource;
  const reached = await waitForStatus(target, resource, usual, options);
  if (reached === undefined) return terminal.out(`${kind} "${metadata.name}" is ${otherwise}.\n`);
  terminal.out(`${kind} "${metadata.name}" is ${options.wait ?? usual}.\n`);
  const { status, message } = reached.status ?? {};
  if (status !== 'Ready' && message !== undefined && message !== '') terminal.note(`It is ${status ?? 'Pending'}: ${printable(message)}\n`);
}

function described({ kind, metadata, spec, status = {} }: SkupperResource): string {
  const { conditions = [], ...state } = status;
  const lines = fieldLines([
    ['Name', metadata.name],
    ['Kind', kind],
    ...Object.entries(state)
      .filter(([, value]) => typeof value !== 'object')
      .map(labelled),
    ...Object.entries(spec).map(labelled),
  ]);
  const rows = conditions.map(
    ({ type, status: holds, reason, message }) =>
      `  ${type}: ${holds}${holds === 'True' ? '' : ` (${reason})`}${message === '' ? '' : `, ${message}`}`,
  );
  return rows.length === 0 ? lines : `${lines}Conditions:\n${rows.map((row) => `${printable(row)}\n`).join('')}`;
}

/** Formats `routingKey` as `Routing key`. */
function labelled([field, value]: readonly [string, unknown]): readonly [string, unknown] {
  const words = field.replaceAll(/([a-z])([A-Z])/g, (_all, end: string, begin: string) => `${end} ${begin.toLowerCase()}`);
  return [words.charAt(0).toUpperCase() + words.slice(1), value];
}
