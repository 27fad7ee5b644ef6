import { EarshotError } from '../errors/earshot-error.ts';
import type { TrustCode, TrustProblem } from './contract.ts';

/** Everything that this room throws. */
export class TrustError extends EarshotError<TrustCode> {
  get problem(): TrustProblem {
    return { code: this.code, message: this.message };
  }
}
