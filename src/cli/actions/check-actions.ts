/** `earshot check`. */
import { checkFiles } from '../../explain/connection/check-files.ts';
import { runChecks } from '../../explain/gather/run-checks.ts';
import { commonCauses, type CheckReport } from '../../explain/report.ts';
import { machinePlatform } from '../../platform/linux/machine.ts';
import { locationText } from '../../platform/linux/report.ts';
import { printable } from '../../text/printable.ts';
import { CliError } from '../errors.ts';
import { formatReport, junitReport } from '../output/report-format.ts';
import { isScreenColoured } from '../output/explanation-format.ts';
import { structured } from '../output/output.ts';
import type { Terminal } from '../output/terminal.ts';
import { isMachine, type PlaceWords } from '../place.ts';
import { conventionsFor, platformFor } from '../resources.ts';
import { fileProblems } from './file-problems.ts';
import { readResourceFiles } from './resource-files.ts';
import { openPlace } from './explain-place.ts';
import type { ExplainOptions } from './explain-actions.ts';

export interface CheckOptions extends Pick<ExplainOptions, 'short' | 'failOn' | 'wait'> {
  readonly output?: 'json' | 'yaml' | 'junit';
  readonly filename?: readonly string[];
  readonly pre?: boolean;
}

/** Milliseconds between two attempts with `--wait`. */
const RETRY_EVERY = 500;

/** @throws CliError failed if a check fails, not-ready if something waits, not-running if nothing runs the site */
export async function check(words: PlaceWords, terminal: Terminal, options: CheckOptions): Promise<void> {
  const { title, report } = await reportFor(words, terminal, options);
  show(terminal, title, report, options);
  requireWorking(report, options);
}

interface Titled {
  /** Such as `Namespace west`. */
  readonly title: string;
  readonly report: CheckReport;
}

async function reportFor(words: PlaceWords, terminal: Terminal, { filename, pre, wait = 0 }: CheckOptions): Promise<Titled> {
  if (filename !== undefined) return { title: filename.join(', '), report: await checkFilesAt(words, terminal, filename) };
  if (pre === true) {
    const { checkBeforeInstallation } = await import('./check-before.ts');
    return checkBeforeInstallation(words);
  }
  await using open = await openPlace(words);
  const end = performance.now() + wait;
  using _followed = open.resources.follow();
  for (;;) {
    const report = await runChecks({ ...open.place, probe: false });
    const isOver = !['fail', 'wait'].includes(report.verdict) || performance.now() >= end;
    if (isOver) return { title: `Namespace ${open.resources.namespace}`, report };
    await open.resources.wait(RETRY_EVERY);
  }
}

async function checkFilesAt(words: PlaceWords, terminal: Terminal, paths: readonly string[]): Promise<CheckReport> {
  const { platform: chosen } = await platformFor(words);
  const platform = isMachine(chosen) ? machinePlatform(chosen) : (await conventionsFor(words)).platform;
  const namespace = words.namespace ?? (isMachine(chosen) ? 'default' : '');
  const files = await readResourceFiles(paths, terminal, { namespace, platform });
  if (files.every(({ objects, problems }) => objects.length === 0 && problems.length === 0))
    throw new CliError('usage', `${paths.join(', ')} contains no resource.`);
  return checkFiles(
    {
      objects: files.flatMap(({ name, objects }) =>
        objects.map(({ value, line }) => ({ object: value, location: printable(`${name}:${line}`) })),
      ),
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
      planned: fileProblems(files, platform),
    },
    new Date(),
  );
}

function show(terminal: Terminal, title: string, report: CheckReport, { output, short }: CheckOptions): void {
  if (output === 'junit') return terminal.out(junitReport(title, report));
  if (output !== undefined) return terminal.out(structured(report, output));
  terminal.out(formatReport(title, report, { isShort: short === true, isColoured: isScreenColoured(terminal) }));
}

function requireWorking(report: CheckReport, { failOn }: Pick<CheckOptions, 'failOn'>): void {
  const causes = commonCauses(report).map(({ step }) => step);
  const stopped = causes.find(({ code }) => code === 'not-running');
  if (stopped !== undefined) throw new CliError('not-running', printable(stopped.says));
  const all = [...causes, ...report.findings];
  const count = (states: readonly string[]): number => all.filter(({ state }) => states.includes(state)).length;
  const text = (problems: number): string => `${problems} problem${problems === 1 ? '' : 's'} found.`;
  if (report.verdict === 'fail') throw new CliError('failed', text(count(['fail'])));
  const warnings = report.objects.filter(({ verdict }) => verdict === 'warn').length + count(['warn']);
  if (failOn === 'warn' && warnings > 0) throw new CliError('failed', text(warnings));
  if (report.verdict === 'wait') throw new CliError('not-ready', text(count(['wait'])));
}
