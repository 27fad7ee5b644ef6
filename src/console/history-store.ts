/** Keeps the history in a file, so that a console that starts again shows the past. The file is a database of SQLite. */
import { lstatSync, statSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { remedyOf } from '../files/errno.ts';
import { FileError } from '../files/errors.ts';
import { createEmpty } from '../files/owner.ts';
import { sqliteFaultOf } from '../files/sqlite-error.ts';
import { attempt } from '../telemetry/boundary.ts';
import { messageOf } from '../telemetry/log.ts';
import { pause } from '../work/pause.ts';
import { decodeStep, encodeStep, HISTORY_FORMAT } from './history-format.ts';
import { historySteps, type History } from './history.ts';

export interface HistoryStoreOptions {
  readonly path: string;
  /** Namespace of the site. A file has the history of one. */
  readonly namespace: string;
  /** Filled with what the file has. */
  readonly history: History;
  /** Bytes of the file. */
  readonly most: number;
  /** Milliseconds since 1970. */
  now(): number;
}

/** Milliseconds between two writes. A crash loses what was measured since the last one. */
const EVERY = 60_000;
/** Number of new series in one transaction, so that the event loop is blocked for some milliseconds only. */
const SERIES_AT_ONCE = 250;
const PAGE = 4_096;
/** Pages that the write-ahead log has until they are copied into the file, and bytes of its part of the limit. */
const [LOG_PAGES, LOG_BYTES] = [256, 8 * 2 ** 20];
/** Marks the file as a history: `Ears`. */
const APPLICATION = 0x45617273;

/**
 * Invariants: the steps of a length before `#written` are in the file, and so is its values so far. A step that is not over is written
 * again. An error changes neither the history in memory nor `#written`, so the next write has everything.
 */
export class HistoryStore implements AsyncDisposable {
  readonly #options: HistoryStoreOptions;
  readonly #database: DatabaseSync;
  readonly #inode: number | undefined;
  readonly #putStep: StatementSync;
  readonly #putSeries: StatementSync;
  /** Numbers of series in the file, by ID. */
  readonly #series = new Map<string, number>();
  /** Number of the last written step, by its length. */
  readonly #written = new Map<number, number>();
  #problem: string | undefined;

  /** @throws FileError if the file cannot be used */
  constructor(options: HistoryStoreOptions) {
    this.#options = options;
    const { path } = options;
    this.#database = openDatabase(options);
    this.#inode = inodeOf(path);
    try {
      this.#restore();
      this.#putStep = this.#database.prepare('INSERT OR REPLACE INTO steps (seconds, number, data) VALUES (?, ?, ?)');
      this.#putSeries = this.#database.prepare('INSERT INTO series (id) VALUES (?)');
    } catch (error) {
      this.#database.close();
      throw unusable(path, error);
    }
  }

  /** Reason why the last write failed. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Writes once a minute until the signal is aborted. */
  async run(until: AbortSignal): Promise<void> {
    while (!until.aborted) {
      // Ends early, with an error, when the signal is aborted.
      await pause(EVERY, until).catch(() => undefined);
      if (!until.aborted) await attempt('look/console-history', () => this.save());
    }
  }

  /** Writes what was measured since the last call, one step after the other. */
  async save(): Promise<void> {
    try {
      // Writes to a removed file succeed, but no later console finds their content.
      if (inodeOf(this.#options.path) !== this.#inode) throw new Error('it was removed or replaced. Start the console again');
      for (const { seconds, count } of historySteps) {
        const now = this.#numberOf(seconds);
        // A clock that was set back gives the steps since then other content.
        const first = Math.min(this.#written.get(seconds) ?? 0, now);
        for (let number = Math.max(first, now - count + 1); number <= now; number += 1) {
          await this.#saveStep(seconds, number);
          this.#written.set(seconds, number);
        }
        this.#deleteOthers(seconds, now - count + 1, now);
      }
      this.#problem = undefined;
    } catch (error) {
      this.#problem = `${this.#options.path} cannot be written: ${this.#causeOf(error)}.`;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.save();
    this.#database.close();
  }

  async #saveStep(seconds: number, number: number): Promise<void> {
    const entries = [...this.#options.history.step(seconds, number)];
    if (entries.length === 0) return;
    const fresh = entries.map(([id]) => id).filter((id) => !this.#series.has(id));
    for (let at = 0; at < fresh.length; at += SERIES_AT_ONCE) {
      this.#addSeries(fresh.slice(at, at + SERIES_AT_ONCE));
      await setImmediate();
    }
    this.#putStep.run(seconds, number, encodeStep(entries.map(([id, point]) => [this.#series.get(id) ?? 0, point])));
    await setImmediate();
  }

  #addSeries(ids: readonly string[]): void {
    this.#database.exec('BEGIN');
    try {
      const added = ids.map((id) => [id, Number(this.#putSeries.run(id).lastInsertRowid)] as const);
      this.#database.exec('COMMIT');
      for (const [id, number] of added) this.#series.set(id, number);
    } finally {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
    }
  }

  #restore(): void {
    const ids = new Map<number, string>();
    for (const { number, id } of this.#database.prepare('SELECT number, id FROM series').iterate()) ids.set(Number(number), String(id));
    const used = new Set<number>();
    // The longest steps first: they say which objects have a full history.
    for (const { seconds, count } of historySteps.toReversed()) {
      const now = this.#numberOf(seconds);
      this.#deleteOthers(seconds, now - count + 1, now);
      const rows = this.#database.prepare('SELECT number, data FROM steps WHERE seconds = ? ORDER BY number');
      for (const { number, data } of rows.iterate(seconds)) {
        if (!(data instanceof Uint8Array)) throw new RangeError('a step does not have data');
        for (const [series, point] of decodeStep(data)) {
          const id = ids.get(series);
          if (id === undefined) continue;
          used.add(series);
          this.#options.history.restore(id, seconds, Number(number), point);
        }
      }
      this.#written.set(seconds, now);
    }
    this.#forgetSeries(ids, used);
  }

  /** Deletes steps that are too old, and those of the future: they are from a wrong clock, and would keep all later ones out. */
  #deleteOthers(seconds: number, first: number, last: number): void {
    this.#database.prepare('DELETE FROM steps WHERE seconds = ? AND number NOT BETWEEN ? AND ?').run(seconds, first, last);
  }

  /** Objects whose last step is too old would occupy space forever. */
  #forgetSeries(ids: ReadonlyMap<number, string>, used: ReadonlySet<number>): void {
    this.#database.exec('BEGIN');
    const forget = this.#database.prepare('DELETE FROM series WHERE number = ?');
    for (const [number, id] of ids) {
      if (used.has(number)) this.#series.set(id, number);
      else forget.run(number);
    }
    this.#database.exec('COMMIT');
  }

  #numberOf(seconds: number): number {
    return Math.floor(this.#options.now() / 1000 / seconds);
  }

  #causeOf(error: unknown): string {
    if (sqliteFaultOf(error) !== 'full') return causeOf(error);
    const { page_count: pages } = this.#database.prepare('PRAGMA page_count').get() ?? {};
    return Number(pages) >= pagesIn(this.#options.most)
      ? `it has reached its limit of ${this.#options.most / 2 ** 20} MiB`
      : causeOf(error);
  }
}

const inodeOf = (path: string): number | undefined => statSync(path, { throwIfNoEntry: false })?.ino;

const pagesIn = (most: number): number => Math.floor((most - LOG_BYTES) / PAGE);

/** @throws FileError */
function openDatabase({ path, namespace, most }: HistoryStoreOptions): DatabaseSync {
  createEmpty(path, 0o600);
  requireFile(path);
  let database: DatabaseSync | undefined;
  try {
    // SQLite follows links. It must not create the file behind one of another user.
    database = new DatabaseSync(new URL(`${pathToFileURL(path).href}?mode=rw`), { timeout: 0 });
    database.exec(`PRAGMA locking_mode = EXCLUSIVE; PRAGMA page_size = ${PAGE}`);
    prepareContent(database, namespace, path);
    // With this log, a crash of the machine damages nothing, and only the copies into the file wait for the disk.
    database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = ${LOG_PAGES}`);
    database.exec(`PRAGMA journal_size_limit = ${LOG_BYTES}; PRAGMA max_page_count = ${pagesIn(most)}`);
    // Takes the lock, which stays.
    database.exec('BEGIN IMMEDIATE; COMMIT');
    return database;
  } catch (error) {
    if (database?.isOpen === true) database.close();
    throw unusable(path, error);
  }
}

/** Creates the tables in an empty file. @throws FileError if the file has something else */
function prepareContent(database: DatabaseSync, namespace: string, path: string): void {
  const { application_id: application } = database.prepare('PRAGMA application_id').get() ?? {};
  const isEmpty = database.prepare('SELECT 1 FROM sqlite_schema').get() === undefined;
  if (application === 0 && isEmpty) {
    database.exec(`BEGIN IMMEDIATE;
      PRAGMA application_id = ${APPLICATION};
      CREATE TABLE about (namespace TEXT NOT NULL, format TEXT NOT NULL);
      CREATE TABLE series (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE);
      CREATE TABLE steps (seconds INTEGER NOT NULL, number INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (seconds, number));`);
    database.prepare('INSERT INTO about (namespace, format) VALUES (?, ?)').run(namespace, HISTORY_FORMAT);
    database.exec('COMMIT');
    return;
  }
  if (application !== APPLICATION) throw refusal('file-kind', path, 'it is the database of another program', OTHER_FILE);
  const { namespace: of, format } = database.prepare('SELECT namespace, format FROM about').get() ?? {};
  if (format !== HISTORY_FORMAT) throw refusal('state-unavailable', path, 'it is from another version of Earshot', REMOVE);
  if (of !== namespace) throw refusal('state-unavailable', path, 'it has the history of another namespace', OTHER_FILE);
}

/** SQLite has one error for all of these. */
function requireFile(path: string): void {
  try {
    if (lstatSync(path).isFile()) return;
  } catch (error) {
    throw new FileError('state-unavailable', `The history ${path} cannot be used ${remedyOf(error, 'write')}`, error);
  }
  throw refusal('file-kind', path, 'it is not a regular file', OTHER_FILE);
}

const OTHER_FILE = 'Name another file with --history';
const REMOVE = 'Remove it, or name another file with --history';

function refusal(
  code: 'file-kind' | 'state-busy' | 'state-damaged' | 'state-unavailable',
  path: string,
  cause: string,
  remedy: string,
): FileError {
  return new FileError(code, `The history ${path} cannot be used: ${cause}. ${remedy}`);
}

function unusable(path: string, error: unknown): FileError {
  if (error instanceof FileError) return error;
  switch (sqliteFaultOf(error)) {
    case 'busy':
      return refusal('state-busy', path, 'another console uses it', 'Stop that console, or name another file with --history');
    case 'damaged':
      return refusal('state-damaged', path, causeOf(error), REMOVE);
    case 'full':
      return refusal('state-unavailable', path, causeOf(error), 'Free some space, or name a file on another disk');
    case 'unwritable':
      return refusal('state-unavailable', path, causeOf(error), 'Permit this user to write it and its directory');
    default:
      return error instanceof RangeError
        ? refusal('state-damaged', path, 'it is damaged', REMOVE)
        : refusal('state-unavailable', path, causeOf(error), OTHER_FILE);
  }
}

function causeOf(error: unknown): string {
  switch (sqliteFaultOf(error)) {
    case 'damaged':
      return 'it is damaged, or is not a history of the console';
    case 'full':
      return 'the disk is full';
    case 'unwritable':
      return 'this user may not write it, or its directory';
    default:
      return messageOf(error);
  }
}
