import { catalogue, type ShownAs } from './catalogue.ts';

/** Reason of a condition or an event: the code in CamelCase, as Kubernetes requires. */
export function conditionReason<C extends ConditionCode>(code: C): CamelCase<C> {
  // The type describes the same conversion as the pattern.
  return code.replaceAll(/(?:^|-)(.)/g, (_, letter: string) => letter.toUpperCase()) as CamelCase<C>;
}

export type ConditionCode = ShownAs<'condition' | 'event'>;

/** All reasons, such as `NoSite` and `TlsNoKey`. */
export type ConditionReason = CamelCase<ConditionCode>;

/** Checks a reason that was read. */
export const isConditionReason = (text: string): text is ConditionReason => CODES.has(text);

/** The code of a reason that was read: `port-in-use` for `PortInUse`. */
export const codeOfReason = (reason: string): ConditionCode | undefined => CODES.get(reason);

const CODES: ReadonlyMap<string, ConditionCode> = new Map(
  [...catalogue]
    .filter(([, [shown]]) => /condition|event/.test(shown))
    .map(([code]) => [conditionReason(code as ConditionCode), code as ConditionCode]),
);

type CamelCase<C extends string> = C extends `${infer First}-${infer Rest}` ? `${Capitalize<First>}${CamelCase<Rest>}` : Capitalize<C>;
