/** All of `input/resources` (and of `internal/links`): read anew only where a file has changed. */
import { lstat, opendir, stat } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import type { TlsBundle } from '../../router/contract.ts';
import { keyOf, type SiteObject } from '../../site/resources.ts';
import { codeOf, hasCode } from '../../files/errno.ts';
import { FileError } from '../../files/errors.ts';
import { readText } from '../../files/durable.ts';
import type { NamespaceLayout } from './layout.ts';
import { parseResources, type FileProblem, type ParsedFile, type Placed } from './parse.ts';

export interface Input {
  readonly objects: readonly SiteObject[];
  /** From Secrets among the files. */
  readonly bundles: readonly TlsBundle[];
  readonly problems: readonly FileProblem[];
  /** A file is being written: look again soon. */
  readonly restless: boolean;
}

export interface InputReader {
  read(): Promise<Input>;
}

/** What each file held when it was last read, by its path. */
type Cache = Map<string, { readonly stamp: string; readonly parsed: ParsedFile }>;

const limits = { fileBytes: 512 * 1024, files: 2000, allBytes: 16 * 1024 * 1024 };

/** Milliseconds: a file that was written to more recently may be half of what it is to be, and counts as it was. */
const MAY_BE_HALF = 40;

/** The person's own files come first: what is defined there and in `internal/links` is theirs. */
export function createInputReader(layout: NamespaceLayout, clock: () => number = Date.now): InputReader {
  const folders = [layout.input.resources, layout.internal.links];
  let cache: Cache = new Map();

  async function readFolder(folder: string, next: Cache): Promise<{ readonly files: readonly ParsedFile[]; readonly restless: boolean }> {
    const { names, problem } = await listFolder(folder, layout.root);
    const files: ParsedFile[] = problem === undefined ? [] : [failure(problem)];
    let restless = false;
    let bytes = 0;
    for (const name of names) {
      const path = join(folder, name);
      const file = relative(layout.root, path);
      try {
        const found = await stat(path, { bigint: true });
        bytes += Number(found.size);
        if (bytes > limits.allBytes) {
          files.push(
            failure({
              file,
              severity: 'error',
              message: `with it the files of this directory are more than ${limits.allBytes} bytes, so it is not read.`,
            }),
          );
          continue;
        }
        const stamp = `${found.dev}:${found.ino}:${found.size}:${found.mtimeNs}:${found.ctimeNs}`;
        const known = cache.get(path);
        const isHeld = known !== undefined && known.stamp !== stamp && folder === layout.input.resources && isBeingWritten(found.mtimeNs);
        restless ||= isHeld;
        if (known !== undefined && (known.stamp === stamp || isHeld)) {
          next.set(path, known);
          files.push(known.parsed);
          continue;
        }
        const fresh = await parseFile(path, file, layout);
        if (fresh === undefined) continue;
        const parsed = known === undefined ? fresh : keepLastValid(fresh, known.parsed);
        next.set(path, { stamp, parsed });
        files.push(parsed);
      } catch (error) {
        // Gone since it was listed: the next event brings the rest.
        if (hasCode(error, 'ENOENT') && !(await isDangling(path))) continue;
        files.push(
          failure({
            file,
            severity: 'error',
            message: hasCode(error, 'ENOENT') ? 'it is a link to nothing.' : `it cannot be read (${codeOf(error)}).`,
          }),
        );
      }
    }
    return { files, restless };
  }

  /** A time to come is that of another clock. */
  function isBeingWritten(modified: bigint): boolean {
    const age = clock() - Number(modified / 1_000_000n);
    return age >= 0 && age < MAY_BE_HALF;
  }

  return {
    read: async () => {
      const next: Cache = new Map();
      const read = [];
      for (const folder of folders) read.push(await readFolder(folder, next));
      cache = next;
      const files = read.flatMap((folder) => folder.files);
      return { ...combine(files, `${relative(layout.root, layout.internal.links)}/`), restless: read.some(({ restless }) => restless) };
    },
  };
}

async function isDangling(path: string): Promise<boolean> {
  return lstat(path).then(
    (found) => found.isSymbolicLink(),
    () => false,
  );
}

async function listFolder(folder: string, root: string): Promise<{ readonly names: readonly string[]; readonly problem?: FileProblem }> {
  const names: string[] = [];
  const file = relative(root, folder);
  try {
    for await (const entry of await opendir(folder)) {
      // Editors' drafts and backups: .x.swp, x~, #x#, 4913.
      if (!/\.(ya?ml|json)$/.test(entry.name) || /^[.#]/.test(entry.name)) continue;
      names.push(entry.name);
      if (names.length > limits.files) {
        names.pop();
        return {
          names: names.sort(),
          problem: { file, severity: 'error', message: `it has more than ${limits.files} files; the rest is not read.` },
        };
      }
    }
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return { names: [] };
    return { names: names.sort(), problem: { file, severity: 'error', message: `the directory cannot be read (${codeOf(error)}).` } };
  }
  return { names: names.sort() };
}

async function parseFile(path: string, file: string, layout: NamespaceLayout): Promise<ParsedFile | undefined> {
  try {
    const text = await readText(path, { bytes: limits.fileBytes, within: layout.root });
    return text === undefined ? undefined : await parseResources(text, file, layout.namespace);
  } catch (error) {
    if (!(error instanceof FileError)) {
      // The parser's own failure on hostile text must not stop the others.
      return failure({
        file,
        severity: 'error',
        message: `it cannot be parsed (${error instanceof Error ? error.name : String(error)}); simplify it.`,
      });
    }
    return failure({ file, severity: 'error', message: `${error.message}.` });
  }
}

function failure(problem: FileProblem): ParsedFile {
  return { objects: [], bundles: [], problems: [problem] };
}

/**
 * A mistake in a file does not stop what ran from it: what the new text does not define, because it cannot be read, stays as it was
 * last read, and says so.
 */
function keepLastValid(fresh: ParsedFile, before: ParsedFile): ParsedFile {
  if (!fresh.problems.some(({ severity }) => severity === 'error')) return fresh;
  const firstUnnamed = fresh.problems.find(({ severity, resource }) => severity === 'error' && resource === undefined);
  const defined = new Set(fresh.objects.map(({ value }) => keyOf(value)));
  const named = new Set(fresh.problems.filter(({ severity }) => severity === 'error').map(({ resource }) => resource));
  // Where the mistakes have names, only what they name is kept: the rest was removed on purpose.
  const unnamed = named.has(undefined);
  const kept = before.objects.filter(({ value }) => !defined.has(keyOf(value)) && (unnamed || named.has(keyOf(value))));
  if (kept.length === 0) return fresh;
  const keys = new Set<string>(kept.map(({ value }) => keyOf(value)));
  const told = fresh.problems.map((problem): FileProblem => {
    if (problem.severity !== 'error') return problem;
    const message = `${problem.message} Until then the last valid version runs.`;
    if (problem.resource !== undefined) return keys.has(problem.resource) ? { ...problem, message } : problem;
    return problem === firstUnnamed ? { ...problem, message, affected: [...keys].filter((key) => !named.has(key)) } : problem;
  });
  return { objects: [...fresh.objects, ...kept], bundles: fresh.bundles.length > 0 ? fresh.bundles : before.bundles, problems: told };
}

/**
 * What is defined twice counts where it stands first; the problem names both places.
 * @param made begins the names of the files that Earshot made: a person who writes the same anew has the last word, which is no mistake
 */
function combine(files: readonly ParsedFile[], made: string): Omit<Input, 'restless'> {
  const problems = files.flatMap((file) => file.problems);
  const objects = firsts(
    files.flatMap((file) => file.objects),
    keyOf,
    made,
    problems,
  );
  const bundles = firsts(
    files.flatMap((file) => file.bundles),
    ({ name }) => `Secret/${name}`,
    made,
    problems,
  );
  return { objects, bundles, problems };
}

function firsts<T>(all: readonly Placed<T>[], keyFor: (value: T) => string, made: string, problems: FileProblem[]): readonly T[] {
  const seen = new Map<string, Placed<T>>();
  for (const placed of all) {
    const key = keyFor(placed.value);
    const first = seen.get(key);
    if (first === undefined) {
      seen.set(key, placed);
      continue;
    }
    if (placed.file.startsWith(made) && !first.file.startsWith(made)) continue;
    const where = first.file === placed.file ? `in line ${first.line}` : `in ${basename(first.file)}, line ${first.line}`;
    const message = `${key} is already defined ${where}, which is what counts; remove one of the two.`;
    problems.push({ file: placed.file, line: placed.line, severity: 'error', message, resource: key });
  }
  return [...seen.values()].map(({ value }) => value);
}
