/** Results of `earshot check`: problems first, with their common causes, and JUnit XML for pipelines. */
import { commonCauses, type CheckReport } from '../../explain/report.ts';
import type { Explanation, Step } from '../../explain/step.ts';
import { plural } from '../../site/overview.ts';
import { printable } from '../../text/printable.ts';
import { sentence } from '../../text/sentence.ts';
import { headLine, stepLines, type ExplanationFormat } from './explanation-format.ts';
import { listFirst } from '../../text/list-some.ts';

export function formatReport(title: string, report: CheckReport, format: Pick<ExplanationFormat, 'isShort' | 'isColoured'>): string {
  const causes = commonCauses(report).map(({ step, affected }) => stepLines(withAffected(step, affected), step.object, format));
  const reported = new Set(report.objects.filter(({ cause }) => cause !== undefined).map(({ object }) => object));
  const warned = report.objects.flatMap(warningsOf).filter(({ object }) => !reported.has(object));
  const warnings = warned.map((step) => stepLines(step, step.object, format));
  const findings = report.findings.map((step) => stepLines(step, step.object, format));
  const working = report.objects.filter(({ cause }) => cause === undefined);
  const passed = format.isShort || working.length === 0 ? '' : stepLines(workingStep(working), 'objects', format);
  return [headLine(title, report.verdict, format), ...causes, ...findings, ...warnings, passed].join('');
}

/** Steps that only warn, of objects that work. */
function warningsOf({ cause, steps }: Explanation): readonly Step[] {
  return cause === undefined ? steps.filter(({ state }) => state === 'warn') : [];
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

/** One test case for each object and each finding. `unknown` is a skipped test. */
export function junitReport(title: string, { objects, findings, asOf }: CheckReport): string {
  const cases = [
    ...objects.map(({ object, cause, verdict, steps }) => {
      const step = cause ?? steps.find(({ state }) => state === verdict && state !== 'pass');
      return testCase(object, step);
    }),
    ...findings.map((step) => testCase(`${step.object} ${step.id}`, step)),
  ];
  const failures = cases.filter((each) => each.includes('<failure')).length;
  const head = `<testsuite name="${xml(`earshot check: ${title}`)}" tests="${cases.length}" failures="${failures}" timestamp="${xml(asOf)}">`;
  return `<?xml version="1.0" encoding="UTF-8"?>\n${head}\n${cases.join('')}</testsuite>\n`;
}

function testCase(name: string, step: Step | undefined): string {
  const begin = `  <testcase classname="earshot" name="${xml(name)}"`;
  if (step === undefined || step.state === 'pass' || step.state === 'warn') return `${begin}/>\n`;
  const { state, says, code = step.id, do: remedy } = step;
  if (state === 'unknown') return `${begin}><skipped message="${xml(says)}"/></testcase>\n`;
  return `${begin}><failure type="${xml(code)}" message="${xml(says)}">${xml(remedy ?? says)}</failure></testcase>\n`;
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&apos;' };

/** Text that XML 1.0 permits in attributes and elements. */
function xml(text: string): string {
  return printable(text).replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}
