/** Content of `input/resources` (and of `internal/links`). Only changed files are read again. */
import type { Stats } from 'node:fs';
import { lstat, opendir } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { ProxyConfig, TlsBundle } from '../../router/contract.ts';
import { keyOf, type SiteObject } from '../../site/resources.ts';
import { EarshotError } from '../../errors/earshot-error.ts';
import { codeOf, hasCode } from '../../files/errno.ts';
import { FileError } from '../../files/errors.ts';
import { readText } from '../../files/durable.ts';
import type { NamespaceLayout } from './layout.ts';
import { parseResources, type FileProblem, type ParsedFile, type Placed } from './parse.ts';
import { isSameStamp, listingStamp, Look, stampOf, type Stamp, type Watched } from '../../files/stamps.ts';

export interface Input {
  readonly objects: readonly SiteObject[];
  /** From Secrets among the files. */
  readonly bundles: readonly TlsBundle[];
  /** Proxies from other Secrets, by name. */
  readonly proxies: ReadonlyMap<string, ProxyConfig>;
  readonly problems: readonly FileProblem[];
  /** A file is being written; read again soon. */
  readonly restless: boolean;
}

/** File of the last listing, with its content when it was last read. */
interface Entry extends Watched {
  /** Path as the user knows it. */
  readonly file: string;
  stamp: Stamp | undefined;
  parsed: ParsedFile | undefined;
}

interface Listing {
  /** Stamp of the directory; undefined: list it again. */
  readonly stamp: Stamp | undefined;
  readonly exists: boolean;
  readonly entries: readonly Entry[];
  readonly problem?: FileProblem;
}

const LIMITS = { fileBytes: 512 * 1024, files: 2000, allBytes: 16 * 1024 * 1024 };

/** Milliseconds. A file that was modified more recently may be partially written. Its earlier content stays in use. */
const MAY_BE_HALF = 40;

export class InputReader {
  readonly #layout: NamespaceLayout;
  readonly #clock: () => number;
  readonly #listings = new Map<string, Listing>();
  #latest: { readonly files: readonly ParsedFile[]; readonly input: Input } | undefined;

  constructor(layout: NamespaceLayout, clock: () => number = Date.now) {
    this.#layout = layout;
    this.#clock = clock;
  }

  /**
   * Returns the same object as before if nothing has changed.
   * @throws EarshotError `state-missing` if the directory of the resources existed before
   */
  async read(): Promise<Input> {
    const { input, internal, root } = this.#layout;
    const look = new Look();
    const read: FolderRead[] = [];
    // The user's own files come first, so they take precedence over `internal/links`.
    for (const folder of [input.resources, internal.links]) read.push(await this.#readFolder(folder, look));
    const files = read.flatMap((folder) => folder.files);
    const restless = read.some((folder) => folder.restless);
    const latest = this.#latest;
    if (latest !== undefined && latest.input.restless === restless && isSame(latest.files, files)) return latest.input;
    const combined = { ...combine(files, `${relative(root, internal.links)}/`), restless };
    this.#latest = { files, input: combined };
    return combined;
  }

  async #readFolder(folder: string, look: Look): Promise<FolderRead> {
    const { entries, problem } = await this.#list(folder, look);
    const files: ParsedFile[] = problem === undefined ? [] : [failure(problem)];
    let restless = false;
    let bytes = 0;
    const looked = await look.at(entries);
    for (const [index, entry] of entries.entries()) {
      const found = looked[index];
      if (found === undefined || found instanceof Error) {
        forget(entry);
        // Deleted since it was listed. The next event brings the change.
        if (!(await isGone(entry.path, found))) files.push(failure({ file: entry.file, severity: 'error', message: unreadable(found) }));
        continue;
      }
      const size = found === 'same' ? (entry.stamp?.size ?? 0) : found.size;
      // A file above the size limit is not read, so it must not use up the limit of all files.
      if (size <= LIMITS.fileBytes) bytes += size;
      const isHeld = folder === this.#layout.input.resources && this.#isBeingWritten(entry, found);
      restless ||= isHeld;
      const parsed = bytes > LIMITS.allBytes ? tooMuch(entry) : isHeld ? entry.parsed : await this.#readFile(entry, found);
      if (parsed !== undefined) files.push(parsed);
    }
    return { files, restless };
  }

  async #list(folder: string, look: Look): Promise<Listing> {
    const stamp = await listingStamp(look, folder, this.#clock());
    const before = this.#listings.get(folder);
    if (before?.stamp !== undefined && stamp !== undefined && isSameStamp(before.stamp, stamp)) return before;
    const { root, input } = this.#layout;
    const found = await listFolder(folder, root);
    if (found === undefined && before?.exists === true && folder === input.resources) throw missing(folder);
    const { names, problem } = found ?? { names: [] };
    const known = new Map(before?.entries.map((entry) => [entry.path, entry]));
    const entries = names.map((name): Entry => {
      const path = join(folder, name);
      return known.get(path) ?? { path, file: relative(root, path), stamp: undefined, parsed: undefined };
    });
    const exists = found !== undefined;
    const listing = { stamp: problem === undefined ? stamp : undefined, exists, entries, ...(problem === undefined ? {} : { problem }) };
    this.#listings.set(folder, listing);
    return listing;
  }

  /** The file existed before and has changed just now. A time in the future comes from another clock. */
  #isBeingWritten({ stamp }: Entry, found: 'same' | Stats): boolean {
    if (stamp === undefined || found === 'same') return false;
    const age = this.#clock() - found.mtimeMs;
    return age >= 0 && age < MAY_BE_HALF;
  }

  async #readFile(entry: Entry, found: 'same' | Stats): Promise<ParsedFile | undefined> {
    const { parsed: before, path, file } = entry;
    if (found === 'same') return before;
    const fresh = await parseFile(path, file, this.#layout);
    if (fresh === undefined) forget(entry);
    else {
      entry.stamp = stampOf(found);
      entry.parsed = before === undefined ? fresh : keepLastValid(fresh, before);
    }
    return entry.parsed;
  }
}

/** Missing is not empty: the namespace was moved, or its file system was unmounted. */
function missing(folder: string): EarshotError {
  const message = `${folder} does not exist any more, so the site goes on as it was. Put the directory back, or stop the site. Without resources, leave it empty.`;
  return new EarshotError('state-missing', message);
}

function forget(entry: Entry): void {
  entry.stamp = undefined;
  entry.parsed = undefined;
}

interface FolderRead {
  readonly files: readonly ParsedFile[];
  readonly restless: boolean;
}

/** Problems of unreadable files are new objects each time. */
function isSame(before: readonly ParsedFile[], now: readonly ParsedFile[]): boolean {
  return before.length === now.length && now.every((file, index) => file === before[index] || isDeepStrictEqual(file, before[index]));
}

function tooMuch(entry: Entry): ParsedFile {
  forget(entry);
  const message = `it is not read, because the files of this directory would exceed ${LIMITS.allBytes} bytes.`;
  return failure({ file: entry.file, severity: 'error', message });
}

async function isGone(path: string, error: unknown): Promise<boolean> {
  return hasCode(error, 'ENOENT') && !(await isDangling(path));
}

function unreadable(error: unknown): string {
  return hasCode(error, 'ENOENT') ? 'it is a link to a file that does not exist.' : `it cannot be read (${codeOf(error)}).`;
}

async function isDangling(path: string): Promise<boolean> {
  return lstat(path).then(
    (found) => found.isSymbolicLink(),
    () => false,
  );
}

/** Undefined if the directory does not exist. */
async function listFolder(
  folder: string,
  root: string,
): Promise<{ readonly names: readonly string[]; readonly problem?: FileProblem } | undefined> {
  const names: string[] = [];
  const file = relative(root, folder);
  try {
    for await (const entry of await opendir(folder)) {
      // Skip drafts and backups of editors: .x.swp, x~, #x#, 4913.
      if (!/\.(ya?ml|json)$/.test(entry.name) || /^[.#]/.test(entry.name)) continue;
      names.push(entry.name);
      if (names.length > LIMITS.files) {
        names.pop();
        return {
          names: names.sort(),
          problem: { file, severity: 'error', message: `it has more than ${LIMITS.files} files; the rest is not read.` },
        };
      }
    }
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    return { names: names.sort(), problem: { file, severity: 'error', message: `the directory cannot be read (${codeOf(error)}).` } };
  }
  return { names: names.sort() };
}

async function parseFile(path: string, file: string, layout: NamespaceLayout): Promise<ParsedFile | undefined> {
  try {
    const text = await readText(path, { bytes: LIMITS.fileBytes, within: layout.root });
    return text === undefined ? undefined : await parseResources(text, file, layout.namespace);
  } catch (error) {
    if (!(error instanceof FileError)) {
      // A failure of the parser on hostile text must not stop the other files.
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
  return { objects: [], bundles: [], proxies: [], problems: [problem] };
}

/**
 * A mistake in a file does not stop what runs. Resources that the new text fails to define keep their last valid version, and the problem
 * says so.
 */
function keepLastValid(fresh: ParsedFile, before: ParsedFile): ParsedFile {
  if (!fresh.problems.some(({ severity }) => severity === 'error')) return fresh;
  const firstUnnamed = fresh.problems.find(({ severity, resource }) => severity === 'error' && resource === undefined);
  const defined = new Set(fresh.objects.map(({ value }) => keyOf(value)));
  const named = new Set(fresh.problems.filter(({ severity }) => severity === 'error').map(({ resource }) => resource));
  // If all mistakes name their resources, keep only those: the others were removed on purpose.
  const unnamed = named.has(undefined);
  const kept = before.objects.filter(({ value }) => !defined.has(keyOf(value)) && (unnamed || named.has(keyOf(value))));
  if (kept.length === 0) return fresh;
  const keys = new Set<string>(kept.map(({ value }) => keyOf(value)));
  const reported = fresh.problems.map((problem): FileProblem => {
    if (problem.severity !== 'error') return problem;
    const message = `${problem.message} Until then the last valid version runs.`;
    if (problem.resource !== undefined) return keys.has(problem.resource) ? { ...problem, message } : problem;
    return problem === firstUnnamed ? { ...problem, message, affected: [...keys].filter((key) => !named.has(key)) } : problem;
  });
  return {
    objects: [...fresh.objects, ...kept],
    bundles: fresh.bundles.length > 0 ? fresh.bundles : before.bundles,
    proxies: fresh.proxies.length > 0 ? fresh.proxies : before.proxies,
    problems: reported,
  };
}

/**
 * Uses the first of several definitions. The problem names both.
 * @param made path prefix of files that Earshot creates. Overriding one in a user's file is not a mistake
 */
function combine(files: readonly ParsedFile[], ownFolder: string): Omit<Input, 'restless'> {
  const problems = files.flatMap((file) => file.problems);
  const objects = firsts(
    files.flatMap((file) => file.objects),
    keyOf,
    ownFolder,
    problems,
  );
  const bundles = firsts(
    files.flatMap((file) => file.bundles),
    ({ name }) => `Secret/${name}`,
    ownFolder,
    problems,
  );
  const proxies = firsts(
    files.flatMap((file) => file.proxies),
    ({ name }) => `Secret/${name}`,
    ownFolder,
    problems,
  );
  return { objects, bundles, proxies: new Map(proxies.map(({ name, proxy }) => [name, proxy])), problems };
}

function firsts<T>(all: readonly Placed<T>[], keyFor: (value: T) => string, ownFolder: string, problems: FileProblem[]): readonly T[] {
  const seen = new Map<string, Placed<T>>();
  for (const placed of all) {
    const key = keyFor(placed.value);
    const first = seen.get(key);
    if (first === undefined) {
      seen.set(key, placed);
      continue;
    }
    if (placed.file.startsWith(ownFolder) && !first.file.startsWith(ownFolder)) continue;
    const where = first.file === placed.file ? `in line ${first.line}` : `in ${basename(first.file)}, line ${first.line}`;
    const message = `${key} is already defined ${where}, which takes effect; remove one of the two.`;
    problems.push({ file: placed.file, line: placed.line, severity: 'error', message, resource: key });
  }
  return [...seen.values()].map(({ value }) => value);
}
