import { catalogue, type ShownAs } from './catalogue.ts';

/** What a condition, or an event, has as its reason: the code in CamelCase, as Kubernetes wants it. */
export function conditionReason<C extends ConditionCode>(code: C): CamelCase<C> {
  // The type says the same as the pattern.
  return code.replaceAll(/(?:^|-)(.)/g, (_, letter: string) => letter.toUpperCase()) as CamelCase<C>;
}

export type ConditionCode = ShownAs<'condition' | 'event'>;

/** All reasons that there are: `NoSite`, `TlsNoKey`. */
export type ConditionReason = CamelCase<ConditionCode>;

/** For a reason that was read. */
export const isConditionReason = (text: string): text is ConditionReason => REASONS.has(text);

const REASONS: ReadonlySet<string> = new Set(
  [...catalogue].filter(([, [shown]]) => /condition|event/.test(shown)).map(([code]) => conditionReason(code as ConditionCode)),
);

type CamelCase<C extends string> = C extends `${infer First}-${infer Rest}` ? `${Capitalize<First>}${CamelCase<Rest>}` : Capitalize<C>;
