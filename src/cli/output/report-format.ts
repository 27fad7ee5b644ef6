/** Results of `earshot check`: problems first, with their common causes, and JUnit XML for pipelines. */
import { linesOf, type CheckReport } from '../../explain/report.ts';
import type { Explanation, Step, StepState } from '../../explain/step.ts';
import { plural } from '../../site/overview.ts';
import { printable } from '../../text/printable.ts';
import { sentence } from '../../text/sentence.ts';
import { headLine, stepLines, type ExplanationFormat } from './explanation-format.ts';
import { listFirst } from '../../text/list-some.ts';

export function formatReport(title: string, report: CheckReport, format: Pick<ExplanationFormat, 'isShort' | 'isColoured'>): string {
  const lines = linesOf(report);
  const causes = lines.causes.map(({ step, affected }) => stepLines(withAffected(step, affected), step.object, format));
  const others = [...lines.findings, ...lines.warnings].map((step) => stepLines(step, step.object, format));
  const working = report.objects.filter(({ cause }) => cause === undefined);
  const passed = format.isShort || working.length === 0 ? '' : stepLines(workingStep(working), 'objects', format);
  return [headLine(title, report.verdict, format), ...causes, ...others, passed].join('');
}

function withAffected(step: Step, affected: readonly string[]): Step {
  if (affected.length === 0) return step;
  const counts = [...Map.groupBy(affected, (object) => object.slice(0, object.indexOf('/')))].map(
    ([kind, { length }]) => `${length} ${length === 1 ? kind : plural(kind)}`,
  );
  const names = affected.map((object) => printable(object));
  return { ...step, says: `${sentence(step.says)} Affects ${counts.join(', ')}: ${listFirst(names, MOST_NAMED)}` };
}

/** Maximum number of named objects. Further ones are only counted. */
const MOST_NAMED = 8;

function workingStep(working: readonly Explanation[]): Step {
  const counts = [...Map.groupBy(working, ({ object }) => object.slice(0, object.indexOf('/')))].map(
    ([kind, { length }]) => `${length} ${length === 1 ? kind : plural(kind)}`,
  );
  return { id: 'check.objects', object: '', state: 'pass', says: `${counts.join(', ')} without a failure` };
}

/** Test of an object or of a finding. */
export interface TestCase {
  readonly name: string;
  readonly result: 'passed' | 'failed' | 'skipped';
  /** Step that did not pass. */
  readonly step: Step | undefined;
}

/** One test case for each object and each finding. `unknown` is a skipped test. @param failOn least severe state that fails */
export function testCasesOf({ objects, findings }: CheckReport, failOn: 'fail' | 'warn'): readonly TestCase[] {
  const failed: readonly StepState[] = failOn === 'warn' ? ['fail', 'wait', 'warn'] : ['fail', 'wait'];
  const testCase = (name: string, step: Step | undefined): TestCase => {
    const isSkipped = step?.state === 'unknown';
    return { name, step, result: isSkipped ? 'skipped' : step !== undefined && failed.includes(step.state) ? 'failed' : 'passed' };
  };
  return [
    ...objects.map(({ object, cause, verdict, steps }) =>
      testCase(object, cause ?? steps.find(({ state }) => state === verdict && state !== 'pass')),
    ),
    ...findings.map((step) => testCase(`${step.object} ${step.id}`, step)),
  ];
}

export function junitReport(title: string, cases: readonly TestCase[], asOf: string): string {
  const [failures, skipped] = (['failed', 'skipped'] as const).map((each) => cases.filter(({ result }) => result === each).length);
  const counts = `tests="${cases.length}" failures="${failures}" skipped="${skipped}"`;
  const head = `<testsuite name="${xml(`earshot check: ${title}`)}" ${counts} timestamp="${xml(asOf)}">`;
  return `<?xml version="1.0" encoding="UTF-8"?>\n${head}\n${cases.map(formatTestCase).join('')}</testsuite>\n`;
}

function formatTestCase({ name, result, step }: TestCase): string {
  const begin = `  <testcase classname="earshot" name="${xml(name)}"`;
  if (step === undefined || result === 'passed') return `${begin}/>\n`;
  const { says, code = step.id, do: remedy } = step;
  if (result === 'skipped') return `${begin}><skipped message="${xml(says)}"/></testcase>\n`;
  return `${begin}><failure type="${xml(code)}" message="${xml(says)}">${xml(remedy ?? says)}</failure></testcase>\n`;
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&apos;' };

/** Text that XML 1.0 permits in attributes and elements. */
function xml(text: string): string {
  return printable(text).replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}
