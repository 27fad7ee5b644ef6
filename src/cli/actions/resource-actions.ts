/** What `create`, `update`, `delete`, `status` and `generate` do, for every kind alike. */
import type { SkupperKind, SkupperResource } from '../../api/skupper/index.ts';
import { problemText, validateResource, type ResourceProblem } from '../../api/skupper/validate.ts';
import { layoutOf, type NamespaceLayout } from '../../platform/linux/layout.ts';
import { markedStale } from '../../agent/stale-status.ts';
import { stopped } from '../../platform/linux/stale-status.ts';
import { CliError } from '../errors.ts';
import { definedResources, findDefined, manifest, putManifest, removeManifest, type Manifest } from './input-files.ts';
import type { OutputFormat, Wait, WaitOptions } from '../commands/options.ts';
import { fieldLines, listOf, resourceTable, structured } from '../output/output.ts';
import { listRuntime, runningRouters, type OfKind } from './runtime-files.ts';
import { printable, type Terminal } from '../output/terminal.ts';
import { notRunning, settle, settleGone } from './waiting.ts';

/** What a command's options say of a spec: `undefined` leaves a field as it is, an empty text takes it away, settings are added. */
export type SpecChange = Readonly<Record<string, unknown>>;

export interface Target<K extends SkupperKind = SkupperKind> {
  readonly namespace: string;
  readonly kind: K;
  readonly terminal: Terminal;
}

export async function createResource<K extends SkupperKind>(
  { namespace, kind, terminal }: Target<K>,
  name: string,
  change: SpecChange,
  usual: Wait,
  options: WaitOptions,
): Promise<void> {
  const layout = layoutOf(namespace);
  const wanted = manifest(kind, name, changed({}, change));
  const resource = checked(kind, wanted);
  const found = await findDefined(layout, kind, name);
  if (found !== undefined) {
    const advice = `change it with \`earshot ${kind.toLowerCase()} update\`, or delete it first`;
    throw new CliError('exists', `${kind} "${name}" exists already, in ${found.file}; ${advice}.`);
  }
  await putManifest(layout, wanted);
  await reportSettled(layout, resource, usual, options, terminal, 'created');
}

export async function updateResource<K extends SkupperKind>(
  { namespace, kind, terminal }: Target<K>,
  name: string,
  change: SpecChange,
  usual: Wait,
  options: WaitOptions,
): Promise<void> {
  const layout = layoutOf(namespace);
  const found = await findDefined(layout, kind, name);
  if (found === undefined) throw notFound(kind, name, await namesOf(layout, kind));
  const wanted: Manifest = { ...found.manifest, spec: changed(found.manifest.spec ?? {}, change) };
  const resource = checked(kind, wanted);
  const outcome = await putManifest(layout, wanted);
  await reportSettled(layout, resource, usual, options, terminal, outcome === 'unchanged' ? 'as it was' : 'changed');
}

export async function deleteResource(
  { namespace, kind, terminal }: Target,
  name: string,
  options: { readonly wait: boolean; readonly timeout: number },
): Promise<void> {
  const layout = layoutOf(namespace);
  if (!(await removeManifest(layout, kind, name))) throw notFound(kind, name, await namesOf(layout, kind));
  if (options.wait) await settleGone(layout, kind, name, options.timeout, terminal);
  terminal.out(`${kind} "${name}" is deleted.\n`);
}

/** One resource by its fields, or all of a kind as a table. What runs says how they are; without it there is only what is asked for. */
export async function showStatus(
  { namespace, kind, terminal }: Target,
  name: string | undefined,
  output: OutputFormat | undefined,
): Promise<void> {
  const layout = layoutOf(namespace);
  const all = await resourcesOf(layout, kind);
  if ((await runningRouters(layout)).length === 0) terminal.note(notRunning(layout));
  if (name === undefined) {
    if (output !== undefined) terminal.out(structured(listOf(all), output));
    else terminal.out(all.length === 0 ? `No ${kind} in the namespace ${namespace}.\n` : resourceTable(kind, all));
    return;
  }
  const resource = all.find(({ metadata }) => metadata.name === name);
  if (resource === undefined)
    throw notFound(
      kind,
      name,
      all.map(({ metadata }) => metadata.name ?? ''),
    );
  terminal.out(output === undefined ? described(resource) : structured(resource, output));
}

/** @throws CliError usage where it could not work anywhere */
export function generateResource(terminal: Terminal, kind: SkupperKind, name: string, change: SpecChange, output: OutputFormat): void {
  const wanted = manifest(kind, name, changed({}, change));
  checked(kind, wanted);
  terminal.out(structured(wanted, output));
}

/** As written back, and those of the files that are not (yet). Where nothing runs, nothing is ready, whatever was last written. */
export async function resourcesOf<K extends SkupperKind>(layout: NamespaceLayout, kind: K): Promise<readonly OfKind<K>[]> {
  const found = await listRuntime(layout, kind);
  const runs = found.length === 0 || (await runningRouters(layout)).length > 0;
  const written = runs ? found : found.map((resource) => withoutRouter(resource, layout.namespace));
  const known = new Set(written.map(({ metadata }) => metadata.name));
  const asked = (await definedResources(layout)).flatMap(({ manifest: defined }) => {
    if (defined.kind !== kind || known.has(defined.metadata.name)) return [];
    const { resource } = validateResource(defined);
    // Its kind has just been compared.
    return resource === undefined ? [] : [resource as OfKind<K>];
  });
  return [...written, ...asked].toSorted((one, other) => ((one.metadata.name ?? '') < (other.metadata.name ?? '') ? -1 : 1));
}

function withoutRouter<T extends SkupperResource>(resource: T, namespace: string): T {
  const now = new Date().toISOString();
  // A status with fewer fields, all of which may be left out.
  return { ...resource, status: markedStale(resource.status ?? {}, stopped(namespace), now) } as T;
}

export function notFound(kind: SkupperKind, name: string, there: readonly string[]): CliError {
  const others =
    there.length === 0 ? `there is no ${kind} at all` : `there is ${there.slice(0, 10).join(', ')}${there.length > 10 ? ', …' : ''}`;
  return new CliError('not-found', `There is no ${kind} "${name}" in this namespace; ${others}.`);
}

/** @throws CliError usage that names each field */
export function checked<K extends SkupperKind>(kind: K, wanted: Manifest): OfKind<K> {
  const { resource, problems } = validateResource(wanted);
  if (resource === undefined) throw new CliError('usage', problemList(`${kind} "${wanted.metadata.name}"`, problems));
  // Validated as what `kind` says.
  return resource as OfKind<K>;
}

function problemList(what: string, problems: readonly ResourceProblem[]): string {
  const errors = problems.filter(({ severity }) => severity === 'error').map(problemText);
  return errors.length === 1 ? `${what}: ${errors.join('')}.` : `${what}:\n${errors.map((error) => `  ${error}.`).join('\n')}`;
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

async function reportSettled(
  layout: NamespaceLayout,
  resource: SkupperResource,
  usual: Wait,
  options: WaitOptions,
  terminal: Terminal,
  otherwise: string,
): Promise<void> {
  const { kind, metadata } = resource;
  const level = options.wait ?? usual;
  const settled = await settle(layout, resource, usual, options, terminal);
  if (settled === undefined) return terminal.out(`${kind} "${metadata.name}" is ${otherwise}.\n`);
  terminal.out(`${kind} "${metadata.name}" is ${level}.\n`);
  const { status, message } = settled.status ?? {};
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
  const rows = conditions.map(({ type, status: holds, message }) => `  ${type}: ${holds}${message === '' ? '' : `, ${message}`}`);
  return rows.length === 0 ? lines : `${lines}Conditions:\n${rows.map((row) => `${printable(row)}\n`).join('')}`;
}

/** `routingKey` as `Routing key`. */
function labelled([field, value]: readonly [string, unknown]): readonly [string, unknown] {
  const words = field.replaceAll(/([a-z])([A-Z])/g, (_all, end: string, begin: string) => `${end} ${begin.toLowerCase()}`);
  return [words.charAt(0).toUpperCase() + words.slice(1), value];
}

async function namesOf(layout: NamespaceLayout, kind: SkupperKind): Promise<readonly string[]> {
  return (await resourcesOf(layout, kind)).map(({ metadata }) => metadata.name ?? '');
}
