/** `earshot check`. */
import { checkFiles } from '../../explain/connection/check-files.ts';
import { runChecks } from '../../explain/gather/run-checks.ts';
import { findServed } from '../../explain/gather/served-definitions.ts';
import { linesOf, type CheckReport } from '../../explain/report.ts';
import type { Step, StepState } from '../../explain/step.ts';
import type { Resource } from '../../kube/resource.ts';
import { machinePlatform } from '../../platform/linux/machine.ts';
import type { Placed } from '../../platform/linux/parse.ts';
import { locationText } from '../../platform/linux/report.ts';
import { printable } from '../../text/printable.ts';
import { CliError } from '../errors.ts';
import { formatReport, junitReport, testCasesOf } from '../output/report-format.ts';
import { isScreenColoured } from '../output/explanation-format.ts';
import { structured } from '../output/output.ts';
import type { Terminal } from '../output/terminal.ts';
import { isMachine, type PlaceWords } from '../place.ts';
import { conventionsFor, openCluster, platformFor } from '../resources.ts';
import { missingApiProblems } from './access-problems.ts';
import { fileProblems } from './file-problems.ts';
import { readResourceFiles } from './resource-files.ts';
import { examineUntil, openPlace, requireUninterrupted } from './explain-place.ts';
import type { ExplainOptions } from './explain-actions.ts';

export interface CheckOptions extends Pick<ExplainOptions, 'short' | 'failOn' | 'wait'> {
  readonly output?: 'json' | 'yaml' | 'junit';
  readonly filename?: readonly string[];
  readonly pre?: boolean;
}

/** @throws CliError failed if a check fails, not-ready if something waits, not-running if nothing runs the site */
export async function check(words: PlaceWords, terminal: Terminal, options: CheckOptions): Promise<void> {
  const { title, report, isInterrupted = false } = await reportFor(words, terminal, options);
  show(terminal, title, report, options);
  requireUninterrupted({ isInterrupted });
  requireWorking(report, options);
}

interface Titled {
  /** Such as `Namespace west`. */
  readonly title: string;
  readonly report: CheckReport;
  readonly isInterrupted?: boolean;
}

async function reportFor(words: PlaceWords, terminal: Terminal, { filename, pre, wait = 0 }: CheckOptions): Promise<Titled> {
  if (filename !== undefined) return { title: filename.join(', '), report: await checkFilesAt(words, terminal, filename) };
  if (pre === true) {
    const { checkBeforeInstallation } = await import('./check-before.ts');
    return checkBeforeInstallation(words);
  }
  await using open = await openPlace(words);
  const examine = () => runChecks({ ...open.place, probe: false });
  const { last: report, isInterrupted } = await examineUntil(
    { resources: open.resources, terminal },
    wait,
    examine,
    ({ verdict }) => verdict,
  );
  return { title: `Namespace ${open.resources.namespace}`, report, isInterrupted };
}

async function checkFilesAt(words: PlaceWords, terminal: Terminal, paths: readonly string[]): Promise<CheckReport> {
  const { platform: chosen } = await platformFor(words);
  const platform = isMachine(chosen) ? machinePlatform(chosen) : (await conventionsFor(words)).platform;
  const namespace = words.namespace ?? (isMachine(chosen) ? 'default' : '');
  const files = await readResourceFiles(paths, terminal, { namespace, platform });
  if (files.every(({ objects, observers = [], problems }) => objects.length + observers.length === 0 && problems.length === 0))
    throw new CliError('usage', `${paths.join(', ')} contains no resource.`);
  const all = files.flatMap((file) => file.objects.map(({ value }) => value));
  const missing = isMachine(chosen) ? [] : await missingApiProblems(all, (kinds) => findServedThere(words, kinds));
  return checkFiles(
    {
      objects: files.flatMap(({ name, objects }) => objects.map((placed) => locatedIn(name, placed))),
      observers: files.flatMap(({ name, observers = [] }) => observers.map((placed) => locatedIn(name, placed))),
      problems: files.flatMap(({ problems }) =>
        problems
          // Without -n, any namespace may be meant.
          .filter(({ field }) => words.namespace !== undefined || field !== 'metadata.namespace')
          .map((problem) => ({
            isError: problem.severity === 'error',
            text: printable(locationText(problem)),
            file: printable(problem.file),
          })),
      ),
      planned: [...fileProblems(files, platform), ...missing],
    },
    new Date(),
  );
}

function locatedIn<T>(name: string, { value, line }: Placed<T>): { readonly object: T; readonly location: string } {
  return { object: value, location: printable(`${name}:${line}`) };
}

/** Files are checked without a cluster too: then it is assumed to serve everything. */
async function findServedThere(words: PlaceWords, kinds: readonly Resource[]): Promise<readonly Resource[]> {
  try {
    const { client, place } = await openCluster(words, PATIENCE);
    await using _client = client;
    // The client is closed at the end of this block.
    return await findServed(client, place.namespace, kinds);
  } catch {
    return kinds;
  }
}

/** Timeout in milliseconds of requests to a cluster. */
const PATIENCE = 2_000;

function show(terminal: Terminal, title: string, report: CheckReport, { output, short, failOn }: CheckOptions): void {
  if (output === 'junit') return terminal.out(junitReport(title, testCasesOf(report, failOn), report.asOf));
  if (output !== undefined) return terminal.out(structured(report, output));
  terminal.out(formatReport(title, report, { isShort: short === true, isColoured: isScreenColoured(terminal) }));
}

function requireWorking(report: CheckReport, options: Pick<CheckOptions, 'failOn' | 'output'>): void {
  const { verdict } = report;
  const isFailure = verdict === 'fail' || verdict === 'wait' || (verdict === 'warn' && options.failOn === 'warn');
  if (!isFailure) return;
  const { causes, findings, warnings } = linesOf(report);
  const steps = [...causes.map(({ step }) => step), ...findings, ...warnings];
  const isStopped = causes.some(({ step }) => step.code === 'not-running');
  const code = isStopped ? 'not-running' : verdict === 'wait' ? 'not-ready' : 'failed';
  throw new CliError(code, options.output === 'junit' ? testsText(report, options) : problemsText(steps, verdict));
}

/** Counts what the report prints in its format. */
function problemsText(steps: readonly Step[], verdict: StepState): string {
  const { length } = steps.filter(({ state }) => state === verdict);
  return `${length} problem${length === 1 ? '' : 's'} found.`;
}

function testsText(report: CheckReport, { failOn }: Pick<CheckOptions, 'failOn'>): string {
  const cases = testCasesOf(report, failOn);
  return `${cases.filter(({ result }) => result === 'failed').length} of ${cases.length} tests failed.`;
}
