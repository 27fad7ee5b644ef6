/**
 * One step of an explanation: a check of one thing that an object depends on. The words and codes are those of the statuses and of the
 * catalogue of errors; explanations add none of their own.
 */
import type { ErrorCode } from '../errors/catalogue.ts';

export type StepState =
  | 'pass'
  /** Works, but needs attention. */
  | 'warn'
  /** Will resolve by itself. */
  | 'wait'
  /** Needs someone to act. */
  | 'fail'
  /** Could not be examined; `says` names the missing right, source or version. */
  | 'unknown'
  /** Not examined, since an earlier step failed. */
  | 'skip';

export interface Step {
  /** Stable name for programs: `link.tls.dates`. */
  readonly id: string;
  readonly state: StepState;
  /** Checked object: `Link/east`. */
  readonly object: string;
  /** One line for users. Text from peers, pods and the API server is already made safe to display. */
  readonly says: string;
  /** What to do: a command or an instruction. */
  readonly do?: string;
  /** Code of the catalogue, or reason of a condition. */
  readonly code?: ErrorCode | (string & {});
  /** Time since which the state lasts; RFC 3339. */
  readonly since?: string;
  /** Measured duration in milliseconds. */
  readonly ms?: number;
  /** Further facts for programs. */
  readonly facts?: Readonly<Record<string, unknown>>;
}

export interface Explanation {
  /** Explained object: `Listener/web`. */
  readonly object: string;
  /** Worst state of the steps. */
  readonly verdict: StepState;
  /** First failing step, or the first one to wait for if none fails. */
  readonly cause?: Step;
  readonly steps: readonly Step[];
  /** Time of the facts; RFC 3339. */
  readonly asOf: string;
}
