import type { ShownAs } from '../errors/catalogue.ts';
import type { ResourceKey } from './resources.ts';

/** Why a resource does not work as it is written, or not wholly. */
export interface ResourceProblem {
  readonly resource: ResourceKey;
  /** `error`: it does not run. `warning`: it runs, but something in it has no effect. */
  readonly severity: 'error' | 'warning';
  readonly code: ShownAs<'condition'>;
  /** `spec.port`; left out where the whole resource is meant. */
  readonly field?: string;
  /** What is wrong and what to do. */
  readonly message: string;
  /** An error in what was changed, which runs as it was before. */
  readonly runs?: true;
  /** Where conditions are in words (`Wording`): with what their message begins. */
  readonly beginning?: string;
}

/** What of some resources can run, and what is to be said about them. */
export interface Planned<Config> {
  readonly configs: readonly Config[];
  readonly problems: readonly ResourceProblem[];
}

export function errorIn(resource: ResourceKey, field: string, code: ResourceProblem['code'], message: string): ResourceProblem {
  return { resource, severity: 'error', code, field, message };
}

export function warningIn(resource: ResourceKey, field: string, code: ResourceProblem['code'], message: string): ResourceProblem {
  return { resource, severity: 'warning', code, field, message };
}

/** Whether it cannot run. */
export function hasErrors(problems: readonly ResourceProblem[]): boolean {
  return problems.some(({ severity, runs }) => severity === 'error' && runs !== true);
}

/** As a status shows it: with the field in front. */
export function problemText({ field, message }: Pick<ResourceProblem, 'field' | 'message'>): string {
  return field === undefined ? message : `${field}: ${message}`;
}
