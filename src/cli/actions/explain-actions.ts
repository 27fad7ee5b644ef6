/** `earshot explain`. */
import { explainableKinds, type ExplainableKind, type Explained, type ExplainPlace } from '../../explain/gather/explainable-kinds.ts';
import type { Explanation, Step } from '../../explain/step.ts';
import { didYouMean, itHas } from '../../text/nearest.ts';
import { printable, quoted } from '../../text/printable.ts';
import { sentence } from '../../text/sentence.ts';
import { CliError } from '../errors.ts';
import { notHere } from './kind-names.ts';
import { formatExplanation, isScreenColoured, stepName } from '../output/explanation-format.ts';
import { structured, type OutputFormat } from '../output/output.ts';
import type { Terminal } from '../output/terminal.ts';
import type { PlaceWords } from '../place.ts';
import { examineUntil, openPlace, requireUninterrupted } from './explain-place.ts';

export interface ExplainOptions {
  readonly short?: boolean;
  readonly failOn: 'fail' | 'warn';
  /** Milliseconds. */
  readonly wait?: number;
  readonly output?: OutputFormat;
  readonly probe?: boolean;
}

interface Named {
  readonly kind: string;
  readonly name: string;
}

/**
 * @throws CliError failed if a step fails, not-ready if one waits, not-found without such an object, not-running if nothing runs the
 * site, interrupted by Ctrl-C with `--wait`
 */
export async function explain(words: PlaceWords, terminal: Terminal, named: Named, options: ExplainOptions): Promise<void> {
  await using open = await openPlace(words);
  const place: ExplainPlace = { ...open.place, probe: options.probe === true };
  const kinds = kindsNamed(named.kind, place);
  const examine = () => explainNamed(kinds, place, named);
  const examined = await examineUntil(
    { resources: open.resources, terminal },
    options.wait ?? 0,
    examine,
    ({ explanation }) => explanation.verdict,
  );
  const { explanation, title } = examined.last;
  show(terminal, explanation, title, options);
  requireUninterrupted(examined);
  requireWorking(explanation, options);
}

export function isKindWord(word: string): boolean {
  return explainableKinds.some(({ words }) => words.includes(word.toLowerCase()));
}

/** @throws CliError usage */
export function kindsNamed(word: string, { cluster }: Pick<ExplainPlace, 'cluster'>): readonly ExplainableKind[] {
  const lower = word.toLowerCase();
  const here = explainableKinds.filter(({ needsCluster }) => needsCluster === undefined || cluster !== undefined);
  const found = here.filter(({ words }) => words.includes(lower));
  if (found.length > 0) return found;
  if (isKindWord(word)) throw notHere(word);
  const names = here.map(({ words: [name = ''] }) => name);
  throw new CliError('usage', `The kind ${quoted(word)} does not exist; kinds are ${names.join(', ')}${sentence(didYouMean(word, names))}`);
}

/** Of several kinds with the word, the one that has an object of the name. @throws CliError usage if several have one, not-found */
async function explainNamed(
  kinds: readonly ExplainableKind[],
  place: ExplainPlace,
  { kind, name }: Named,
): Promise<Extract<Explained, { explanation: Explanation }>> {
  const all = await Promise.all(kinds.map(async (each) => ({ each, result: await each.explain(place, name) })));
  const explained = all.flatMap(({ each, result }) => ('explanation' in result ? [{ each, result }] : []));
  const certain = explained.filter(({ result }) => result.isUncertain !== true);
  const found = certain.length > 0 ? certain : explained;
  const [first] = found;
  if (first === undefined) {
    const names = all.flatMap(({ result }) => ('names' in result ? result.names : []));
    const where = kinds.every(({ isClusterWide }) => isClusterWide === true) ? 'cluster' : `namespace ${place.site.resources.namespace}`;
    const known = sentence(didYouMean(name, names) || itHas(names));
    const lists = [...new Set(kinds.map((each) => each.listedBy(place)))].join(' or ');
    const isLink = kinds.some((each) => each.kind === 'Link');
    const seen = isLink ? ` ${lists} also shows links of other sites.` : names.length === 0 ? ` Names are in the output of ${lists}.` : '';
    throw new CliError('not-found', `The ${kind} ${quoted(name)} does not exist in the ${where}${known}${seen}`);
  }
  if (found.length === 1) return first.result;
  const choices = found.map(({ each: { half, words } }) => `${words.at(-1) ?? ''} (${half})`).join(' or ');
  throw new CliError('usage', `Two kinds have a ${kind} ${quoted(name)}: use ${choices}.`);
}

function show(terminal: Terminal, explanation: Explanation, title: string, { output, short }: ExplainOptions): void {
  if (output !== undefined) return terminal.out(structured(explanation, output));
  terminal.out(formatExplanation(explanation, { title, isShort: short === true, isColoured: isScreenColoured(terminal) }));
}

function requireWorking({ object, verdict, cause, steps }: Explanation, { failOn }: ExplainOptions): void {
  const at = (step: Step | undefined): string => (step === undefined ? '.' : ` at step ${stepName(step)}.`);
  const what = printable(object.replace('/', ' '));
  if (verdict === 'fail') throw new CliError(cause?.code === 'not-running' ? 'not-running' : 'failed', `${what} fails${at(cause)}`);
  const warning = steps.find(({ state }) => state === 'warn');
  if (verdict === 'warn' && failOn === 'warn') throw new CliError('failed', `${what} has a warning${at(warning)}`);
  if (verdict === 'wait') throw new CliError('not-ready', `${what} waits${at(cause)}`);
}
