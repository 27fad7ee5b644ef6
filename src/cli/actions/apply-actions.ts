import type { SkupperResource } from '../../api/skupper/index.ts';
import { isNetworkObserver, isSkupperKind, validateResource } from '../../api/skupper/validate.ts';
import { isList, type FileProblem } from '../../platform/linux/parse.ts';
import { locationText } from '../../platform/linux/report.ts';
import { isManifest } from '../../platform/linux/written-resources.ts';
import type { Manifest, Resources } from '../../platform/resources.ts';
import type { Platform } from '../../site/capabilities.ts';
import { fieldErrors } from '../../site/plan/field-errors.ts';
import { CliError } from '../errors.ts';
import { readResourceFiles, type ResourceFile } from './resource-files.ts';
import type { DeleteOptions } from './resource-actions.ts';
import { waitFor } from './wait-action.ts';
import { waitForStatus, waitUntilGone, type Context, type WaitOptions } from './waiting.ts';
import { printable } from '../../text/printable.ts';
import { parseYaml } from '../../text/yaml.ts';

export interface DeleteFilesOptions extends DeleteOptions {
  readonly ignoreNotFound?: boolean;
}

/** Applies all documents, or none if one is invalid. */
export async function applyFiles(context: Context, paths: readonly string[], options: WaitOptions): Promise<void> {
  const { resources, terminal } = context;
  const manifests = await manifestsIn(context, paths);
  const put: SkupperResource[] = [];
  for (const manifest of manifests) {
    const outcome = await resources.put(manifest);
    terminal.out(`${titleOf(manifest)} is ${outcome}.\n`);
    const { resource } = validateResource(manifest);
    if (resource !== undefined) put.push(resource);
  }
  for (const resource of put) await waitForStatus(context, resource, 'none', options);
  for (const { metadata } of manifests.filter(isNetworkObserver)) await waitForObserver(context, metadata.name, options);
  if (options.wait !== undefined && options.wait !== 'none') terminal.out(`All are ${options.wait}.\n`);
}

/** Without `--wait`, apply waits for none. A machine ignores NetworkObservers. */
async function waitForObserver(context: Context, name: string, { wait = 'none', timeout }: WaitOptions): Promise<void> {
  if (wait === 'none' || context.resources.findObserver === undefined) return;
  await waitFor(context, [`networkobserver/${name}`], { for: wait === 'ready' ? 'Ready' : 'Initialized', timeout });
}

export async function deleteFiles(context: Context, paths: readonly string[], options: DeleteFilesOptions): Promise<void> {
  const { resources, terminal } = context;
  const manifests = await manifestsIn(context, paths);
  const missing: string[] = [];
  for (const manifest of manifests) {
    if (await resources.remove(manifest.kind, manifest.metadata.name)) terminal.out(`${titleOf(manifest)} is deleted.\n`);
    else missing.push(titleOf(manifest));
  }
  for (const { kind, metadata } of options.wait ? manifests : []) {
    if (isSkupperKind(kind)) await waitUntilGone(context, kind, metadata.name, options.timeout);
  }
  if (missing.length > 0 && options.ignoreNotFound !== true) throw new CliError('not-found', `Not there: ${missing.join(', ')}.`);
}

/** @throws CliError usage with all problems by file, line and field */
async function manifestsIn({ resources, terminal }: Context, paths: readonly string[]): Promise<readonly Manifest[]> {
  const { namespace, conventions } = resources;
  const files = await readResourceFiles(paths, terminal, { namespace, platform: conventions.platform });
  const manifests: Manifest[] = [];
  const errors: string[] = [];
  for (const file of files) {
    for (const found of [...file.problems, ...fieldProblems(file, conventions.platform)]) {
      const problem = found.field === 'metadata.namespace' && resources.conventions.namespacesCount ? elsewhere(found, resources) : found;
      const line = printable(locationText(problem));
      if (problem.severity === 'error') errors.push(line);
      else terminal.note(`Warning: ${line}\n`);
    }
    // Problems of parsing and limits have been reported by now, so invalid text is not parsed again.
    const values = errors.length === 0 ? parseYaml(file.text) : [];
    manifests.push(
      ...values
        .flatMap((value) => (isList(value) ? value.items : [value]))
        .filter(isManifest)
        .map(asked),
    );
  }
  if (errors.length > 0) throw new CliError('usage', `Nothing was changed:\n${errors.map((error) => `  ${error}`).join('\n')}`);
  if (manifests.length === 0) throw new CliError('usage', `${paths.join(', ')} contains no resource.`);
  return manifests;
}

/** Errors of fields, each at the line of its resource. */
function fieldProblems({ name, objects }: ResourceFile, platform: Platform): readonly FileProblem[] {
  return objects.flatMap(({ value, line }) =>
    fieldErrors(value, platform).map(({ severity, field = '', message }) => ({ file: name, line, severity, field, message })),
  );
}

function elsewhere(problem: FileProblem, { namespace }: Resources): FileProblem {
  return { ...problem, severity: 'error', message: `differs from ${namespace}: select it with -n, or remove the field.` };
}

/** Removes status and metadata that a cluster or another namespace added. */
function asked({ status: _status, metadata, ...manifest }: Manifest): Manifest {
  const { name, labels, annotations } = metadata;
  return {
    ...manifest,
    metadata: { name, ...(labels === undefined ? {} : { labels }), ...(annotations === undefined ? {} : { annotations }) },
  };
}

function titleOf({ kind, metadata }: Manifest): string {
  return `${printable(kind)} "${printable(metadata.name)}"`;
}
