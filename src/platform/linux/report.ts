/** Files of `runtime/`: each resource with its status, and the problems of the input. */
import type { Report } from '../../agent/ports.ts';
import type { ResourceProblem } from '../../site/problem.ts';
import { supportsKind } from '../../site/capabilities.ts';
import { allOf, keyOf, nameOf } from '../../site/resources.ts';
import { API_VERSION } from '../../api/skupper/names.ts';
import { linux } from './machine.ts';
import { yamlParts } from '../../text/write-yaml.ts';
import { resourceFileName } from './layout.ts';
import type { FileProblem } from './parse.ts';
import type { WrittenFile } from './status-writer.ts';
import { conditionReason } from '../../errors/condition-reason.ts';
import { isResourceName } from '../../text/names.ts';

type Statuses = Pick<Report, 'resources' | 'statuses' | 'problems'>;

export function statusFiles({ resources, statuses, problems }: Statuses, now: string): ReadonlyMap<string, WrittenFile> {
  const files = new Map<string, WrittenFile>();
  for (const object of allOf(resources)) {
    const { apiVersion, kind, metadata, spec } = object;
    const status = statuses.get(keyOf(object));
    files.set(resourceFileName(kind, nameOf(object)), {
      parts: () => yamlParts({ apiVersion, kind, metadata, spec, status }),
      mode: modeOf(kind),
    });
  }
  // An unreadable resource has a status as well.
  for (const { resource, severity, message } of problems) {
    const [kind = '', name = ''] = resource.split('/');
    if (severity !== 'error' || !isResourceName(name)) continue;
    const file = resourceFileName(kind, name);
    if (files.has(file)) continue;
    const condition = { type: 'Configured', status: 'False', lastTransitionTime: now, reason: conditionReason('invalid-file'), message };
    const status = { status: 'Error', message, conditions: [condition] };
    files.set(file, { parts: () => yamlParts({ apiVersion: API_VERSION, kind, metadata: { name }, status }), mode: modeOf(kind) });
  }
  return files;
}

/** Mode of the file of a resource with its status. Files with codes are readable by the owner only. */
export function modeOf(kind: string): number {
  return withCode.has(kind) ? 0o600 : 0o644;
}

const withCode: ReadonlySet<string> = new Set(['AccessGrant', 'AccessToken']);

/** Formats a location like compilers: `input/resources/web.yaml:5:9: spec.port: must be …`. */
export function locationText({ file, line, column, field, message }: FileProblem): string {
  const location = [file, line, line === undefined ? undefined : column].filter((part) => part !== undefined).join(':');
  return `${location}: ${field === undefined ? '' : `${field}: `}${message}`;
}

/** Converts problems of files to problems of the resources concerned. */
export function problemsOfFiles(problems: readonly FileProblem[]): readonly ResourceProblem[] {
  return problems.flatMap((problem) => {
    const concerned = [...(problem.resource === undefined ? [] : [problem.resource]), ...(problem.affected ?? [])];
    return concerned.flatMap((resource): readonly ResourceProblem[] => {
      const [kind = '', name = ''] = resource.split('/');
      if (!supportsKind(kind, linux.capabilities)) return [];
      return [{ resource: `${kind}/${name}`, severity: problem.severity, code: 'invalid-file', message: locationText(problem) }];
    });
  });
}

/** Returns why a written Site is unusable; undefined if none was written. */
export function unreadSite(problems: readonly FileProblem[]): string | undefined {
  const errors = problems.filter(({ severity }) => severity === 'error');
  const named = errors.find(({ resource }) => resource?.startsWith('Site/') === true);
  if (named !== undefined) return `its ${(named.resource ?? '').replace('/', ' ')} cannot be used: ${locationText(named)}`;
  // An unreadable file may contain the Site.
  const unnamed = errors.find(({ resource }) => resource === undefined);
  return unnamed === undefined ? undefined : `it has no readable Site, and a file is invalid: ${locationText(unnamed)}`;
}

export function* problemsFile(problems: readonly FileProblem[]): Generator<string, undefined> {
  yield '# Problems of the files in this namespace. Written by the running router.\n';
  yield* yamlParts({ problems });
}
