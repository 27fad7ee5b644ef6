import type { ShownAs } from '../errors/catalogue.ts';
import type { ResourceKey } from './resources.ts';

/** Why a resource does not work, or works only in part. */
export interface ResourceProblem {
  readonly resource: ResourceKey;
  /** `error`: it does not run. `warning`: it runs, but something in it has no effect. */
  readonly severity: 'error' | 'warning';
  readonly code: ShownAs<'condition'>;
  /** Such as `spec.port`; undefined if it concerns the whole resource. */
  readonly field?: string;
  /** Cause and remedy. */
  readonly message: string;
  /** Set if the change is in error and the resource runs as it was before. */
  readonly runs?: true;
  /** Start of the message in the format `words` (`MessageFormat`). */
  readonly beginning?: string;
}

/** Configs of the resources that can run, and the problems of all. */
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

/** Whether the resource cannot run. */
export function hasErrors(problems: readonly ResourceProblem[]): boolean {
  return problems.some(({ severity, runs }) => severity === 'error' && runs !== true);
}

/** Text for a status, which begins with the field. */
export function problemText({ field, message }: Pick<ResourceProblem, 'field' | 'message'>): string {
  return field === undefined ? message : `${field}: ${message}`;
}
